"""Words by which a text says that something is no longer as it was, in the languages that memories are written in."""

import functools
import re

_ENGLISH = r"""
no\ longer | not\ any\ ?more | any\ ?more | instead\ of | in\ place\ of | in\ favou?r\ of
| replac(?:es|ed|ing) | supersed(?:es|ed|ing) | switch(?:ed|ing) | migrat(?:ed|ing) | mov(?:ed|ing)
| chang(?:ed|ing) | gone | remov(?:ed|ing) | dropped | deprecated | retired | dead
| (?:un|de)installed | abandoned | reverted | reversed | rolled\ back
| renamed | disabled | re-?enabled | (?:en|dis)abled\ again
| turned\ (?:on|off) | (?:is|are)\ (?:on|off|over) | went\ from | passed\ (?:from|to) | extended | raised | lowered
| cut | increas(?:ed|es) | decreas(?:ed|es) | bumped | (?:up|down)graded | shortened | lengthened | reduced | doubled | halved
| (?:is|are)\ now | now\ (?:is|are|uses?|runs?|lives?|goes|needs?) | from\ now\ on | used\ to | formerly | previously
| split | stopped | ended | converted | ported | rewritten | rewrote | withdrawn | revoked | cancell?ed | lifted
| as\ of\ (?:now|today|\w+\ \d) | until\ now | outdated | obsolete | no\ more | swapped | phased\ out | shut\ down | sunset
| taken\ (?:down|out|over|off) | took\ over | turned\ into | bec(?:ame|omes?) | merged\ into | discontinued | ditched | closed\ down
| relaxed | tightened | loosened | overturned | reinstated | restored | back\ (?:to|on) | given\ up | gave\ up | went\ (?:back|away)
| grew\ (?:from|to) | shrank | rose | fell\ (?:from|to) | went\ (?:up|down) | brought\ forward | postponed | delayed | pushed\ back
| rotated | transferred | handed\ (?:over|to) | relocated | repurposed | corrected | amended | updated\ (?:to|from) | in\ the\ meantime
| not\ \w+\ but | was\ wrong | turned\ out
"""
_GERMAN = r"""
nicht\ mehr | kein\w*\ \w+\ mehr | statt(?:dessen)? | anstelle | ersetzt | abgelöst | umgestellt | gewechselt | umgezogen
| abgeschaltet | abgeschafft | entfernt | geändert | verschoben | erhöht | gesenkt | ab\ (?:sofort|jetzt) | inzwischen
| umbenannt | eingestellt | deaktiviert | aktualisiert | nun | früher | bisher
"""
_FRENCH = r"""
ne\ \w+\ plus | n['’]\w+\ plus | désormais | remplac(?:é\w*|e|ent) | au\ lieu\ de | à\ la\ place\ de | supprimé\w* | abandonné\w* | migré\w*
| déplacé\w* | chang(?:é|ée|és|ées|ement) | passé\w*\ (?:de|à|du|au) | retiré\w* | désactivé\w* | renommé\w* | auparavant
"""
_SPANISH = r"""
ya\ no | en\ lugar\ de | en\ vez\ de | reemplaz(?:ó|ado|ada|amos) | sustitu(?:yó|ido|ida|imos) | migr(?:ó|ado|ada|amos) | cambi(?:ó|ado|ada|amos)
| elimin(?:ó|ado|ada|amos) | retir(?:ó|ado|ada) | desactiv(?:ó|ado|ada) | a\ partir\ de | ahora | antes | se\ movió | pas(?:ó|amos)\ (?:de|a)
"""
_RUSSIAN = r"""
больше\ не | вместо | замен\w+ | перешл\w+ | переехал\w* | переш[её]л\w* | перенес\w+ | отключ\w+ | удал\w+ | измен\w+ | теперь
| отказал\w+ | устарел\w*
"""
_UNSPACED = """
不再 改为 改成 改用 换成 换为 替换 取代 代替 迁移 迁到 移到 搬到 切换 废弃 弃用 停用 停止 删除 移除 取消 撤销 下线 关闭
升级 降级 调整 提高 降低 延长 缩短 放宽 收紧 恢复 回退 回滚 重命名 更名 现在 如今 从此 以前 原来 已改 已换
変更 廃止 移行 切り替え 置き換え 代わりに やめ 削除 無効 もう使わ 今後 以前は になった 引き上げ 引き下げ
변경 대신 더이상 교체 이전했 옮겼 바꿨 바뀌 바뀐 제거 삭제 폐지 중단 이제 전환 늘렸 줄였
بدلا استبدل تغير انتقل
"""

_SPACED = re.compile(rf"\b(?<!\bbe\ )(?:{_ENGLISH}|{_GERMAN}|{_FRENCH}|{_SPANISH}|{_RUSSIAN})\b", re.VERBOSE)
_ANYWHERE = re.compile("|".join(_UNSPACED.split()) + "|더 이상|لم يعد")

KEPT = 4096
"""Sentences about which the answers are kept: they are asked about again and again."""

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
def negated(sentence: str) -> bool:
    """Whether a sentence denies: an odd number of negations."""
    lower = sentence.lower()
    count = len(_NEGATION.findall(lower)) + len(_NEGATION_ANYWHERE.findall(lower))
    return count % 2 == 1
