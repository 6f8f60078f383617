"""Words by which a text says that something is no longer as it was, in the languages that memories are written in."""

import functools
import re

from memories.search.stopwords import DECISIVE

_MONTH = "(?:january|february|march|april|may|june|july|august|september|october|november|december)"
_ENGLISH = rf"""
no\ longer | not\ any\ ?more | any\ ?more | no\ more | instead | in\ place\ of | in\ favou?r\ of | supersedes
| in\ (?:its|their)\ place | gone | dead | deprecated | retired | (?:un|de)installed | disabled | re-?enabled
| (?:en|dis)abled\ again | abandoned | obsolete | outdated | discontinued | decommissioned | withdrawn | revoked
| lifted | dismantled | scrapped | ditched | expired | replac(?:es|ed\ (?:by|with)|ing) | switching | migrating
| moving | changing | increases | decreases | (?:is|are)\ (?:off|over) | there(?:['’]s|\ is|\ are)\ no
| (?:is|are)\ now | now\ (?:is|are|uses?|runs?|lives?|goes|needs?|gets?|takes?|reads?|writes?|sends?)
| from\ now\ on | used\ to | formerly | previously | until\ (?:now|then) | became | turned\ (?:on|off|into|out)
| shut\ down | sunset | phased\ out | closed\ down | given\ (?:up|away) | gave\ up
| taken\ (?:down|out|over|off|away) | took\ (?:over|away) | took(?=\ (?:\w+\ ){{1,3}}over\b) | takes\ over
| merged\ into | went\ (?:from|back|away|up|down|with\ it) | passed\ (?:from|to)
| (?:grew|fell|shrank|rose)\ (?:from|to) | (?:went|moved|is|are|was|were|switched|fell)\ back\ (?:to|on)
| brought\ forward | pushed\ back | rolled\ back | handed\ (?:over|to) | updated\ (?:to|from)
| in\ the\ meantime | not\ \w+\ but | was\ wrong | (?:has|have)\ (?:left|joined) | left\ (?:the|us|in|at)
| ran\ out | not\ renewed | left\ over | leftovers? | a\ thing\ of\ the\ past | is\ history
| (?:gave|gives|made|makes)\ way | t(?:ook|akes?)\ the\ place | originally | initially | at\ first | up\ to\ now
| the\ old | (?:stays?|remains?)\ (?:only|in|for|with|behind) | (?:is|are)\ left\ only | still\ exists?
| as\ of\ (?:now|today|\w+\ \d)
| since\ (?:then|the|last|version|release|v?\d|{_MONTH})
| (?:from|starting)\ {_MONTH}
"""
# What the present passive tells as a habit: "old rows are removed" is no change, "the old rows were removed" is one.
_EVENTS = r"""
replaced | superseded | switched | migrated | moved | changed | removed | deleted | destroyed | dropped
| reverted | reversed | renamed | extended | raised | lowered | cut | increased | decreased | bumped
| (?:up|down)graded | shortened | lengthened | reduced | doubled | halved | split | stopped | ended | converted
| ported | rewritten | rewrote | cancell?ed | swapped | closed | relaxed | tightened | loosened | exchanged
| substituted | undone | unified | consolidated | folded\ into | rebuilt | redone | reworked | redesigned
| overruled | reconsidered | ceased | adopted | introduced | rolled\ out | reassigned | unpinned
| overturned | reinstated | restored | postponed | delayed | rotated | transferred | relocated | repurposed
| corrected | amended
"""
_GERMAN = r"""
nicht\ mehr | kein\w*\ \w+\ mehr | statt(?:dessen)? | anstelle | ersetzt | abgelöst | umgestellt | gewechselt
| umgezogen | abgeschaltet | abgeschafft | entfernt | geändert | verschoben | erhöht | gesenkt
| ab\ (?:sofort|jetzt) | inzwischen | umbenannt | eingestellt | deaktiviert | aktualisiert | nun | früher
| bisher | gelöscht | entfällt | nur\ noch | jetzt | ist\ weg | ist\ geschichte | fällt\ weg | seit\ \w+
| künftig | neuerdings
"""
_FRENCH = r"""
ne\ \w+\ plus | n['’]\w+\ plus | désormais | remplac(?:é\w*|e|ent) | au\ lieu\ de | à\ la\ place\ de
| supprimé\w* | abandonné\w* | migré\w* | déplacé\w* | chang(?:é|ée|és|ées|ement) | passé\w*\ (?:de|à|du|au)
| retiré\w* | désactivé\w* | renommé\w* | auparavant | depuis | dorénavant | maintenant | à\ partir\ d[eu']
"""
_SPANISH = r"""
ya\ no | en\ lugar\ de | en\ vez\ de | reemplaz(?:ó|ado|ada|amos) | sustitu(?:yó|ido|ida|imos)
| migr(?:ó|ado|ada|amos) | cambi(?:ó|ado|ada|amos) | elimin(?:ó|ado|ada|amos) | retir(?:ó|ado|ada)
| desactiv(?:ó|ado|ada) | a\ partir\ de | ahora | antes | se\ movió | pas(?:ó|amos)\ (?:de|a)
| dej(?:ó|amos|aron)\ de | desde | en\ adelante
"""
_RUSSIAN = r"""
больше\ не | вместо | замен\w+ | перешл\w+ | переехал\w* | переш[её]л\w* | перенес\w+ | отключ\w+ | удал\w+
| измен\w+ | теперь | отказал\w+ | устарел\w*
"""
_UNSPACED = """
不再 起改 月起 日起 起由 转为 转到 原先 之前 改由 改为 改成 改用 换成 换为 替换 取代 代替 迁移 迁到 移到 搬到 切换 废弃 弃用 停用 停止 删除 移除 取消 撤销 下线 关闭
升级 降级 调整 提高 降低 延长 缩短 放宽 收紧 恢复 回退 回滚 重命名 更名 现在 如今 从此 以前 原来 已改 已换
変更 廃止 移行 切り替え 置き換え 代わりに やめ 削除 無効 もう使わ 今後 以前は になった 引き上げ 引き下げ
변경 대신 더이상 교체 이전했 옮겼 바꿨 바뀌 바뀐 제거 삭제 폐지 중단 이제 전환 늘렸 줄였
بدلا استبدل تغير انتقل
"""

_HABIT = r"(?<!\bis\ )(?<!\bare\ )(?<!\bgets\ )(?<!\bget\ )"
# \b is true at the end of a word too: the look-ahead spares trying every alternative there.
_SPACED = re.compile(
    rf"\b(?=\w)(?<!-)(?<!\bbe\ )(?:{_ENGLISH}|{_HABIT}(?:{_EVENTS})|{_GERMAN}|{_FRENCH}|{_SPANISH}|{_RUSSIAN})\b(?!-)",
    re.VERBOSE,
)
_ANYWHERE = re.compile("|".join(_UNSPACED.split()) + "|더 이상|لم يعد")

KEPT = 4096
"""Sentences about which the answers are kept: they are asked about again and again."""

_PAST = re.compile(
    r"(?<![\w.-])([\w.-]++)[`'\")]*\s+((?:was|were|had|did|broke|failed|gave|took|cost|ran|went|lost|held|kept|made|let|led|got"
    r"|came|fell|grew|hit|hung|meant|sent|slept|wrote|burnt|blew|brought|could\ not|couldn't|\w{3,}ed"
    r"|war|waren|hatten?|wurden?|était|étaient|avait|avaient|era|eran|fue|fueron)\b)"
)

_ADVERBS = "always often sometimes usually already also just recently then ever once"
_NO_SUBJECT = DECISIVE.union(_ADVERBS.split())
"""What may stand before a verb and is not what the verb tells about."""
_NEGATION = re.compile(
    r"\b(?:not|never|no|none|without|cannot|can't|don't|doesn't|didn't|isn't|aren't|won't|shouldn't|mustn't|nor|neither"
    r"|nicht|nie|niemals|kein\w*|ohne|ne|jamais|sans|nunca|sin|не|никогда|без)\b",
)
_NEGATION_ANYWHERE = re.compile("不|没|未|勿|别|ない|ません|ずに|禁止|않|없|금지|말 것")


@functools.lru_cache(KEPT)
def changes(sentence: str) -> tuple[str, ...]:
    """The words of a sentence that tell of a change, in lower case."""
    lower = sentence.lower()  # a pattern that ignores case itself is four times as slow
    return tuple(match[0] for match in (*_SPACED.finditer(lower), *_ANYWHERE.finditer(lower)))


@functools.lru_cache(KEPT)
def past(sentence: str) -> tuple[tuple[str, str], ...]:
    """Words of which a sentence tells in the past, each with what is told: the reason of a change does that."""
    found = _PAST.finditer(sentence.lower())
    return tuple((match[1], f"{match[1]} {match[2]}") for match in found if match[1] not in _NO_SUBJECT)


@functools.lru_cache(KEPT)
def negated(sentence: str) -> bool:
    """Whether a sentence denies: an odd number of negations."""
    lower = sentence.lower()
    count = len(_NEGATION.findall(lower)) + len(_NEGATION_ANYWHERE.findall(lower))
    return count % 2 == 1
