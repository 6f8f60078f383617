"""Words that say nothing about a subject, in the languages that prompts are mostly written in."""

_ENGLISH = """
a about above after again against all also am an and any anyone anything are aren as at be because been before being
below between both but by can cannot could couldn did didn do does doesn doing don done down during each either else
ever every few for from further get gets give go goes going got had hadn has hasn have haven having he hello help her
here hers herself hey hi him himself his how however i if in into is isn it its itself just know let lets like ll made
make many may maybe me might mine more most much must my myself need needs neither no nor not now of off ok okay on
once one only or other ought our ours ourselves out over own please put re really s same say see shall shan she should
shouldn show so some someone something still such sure t take tell than thank thanks that the their theirs them
themselves then there these they thing things this those through to too try under until up upon us use used using ve
very via want wants was wasn way we well were weren what whatever when where whether which while who whom whose why
will with within without won would wouldn yes yet you your yours yourself yourselves
"""
_GERMAN = """
aber alle als also am an auch auf aus bei bin bis bist da das dass dein dem den der des die dies diese dieser doch dort
du durch ein eine einem einen einer eines er es euch für habe haben hat hatte hier ich ihr im in ist ja jede jetzt kann
kein keine man mein mit nach nicht noch nun nur ob oder ohne sein sich sie sind so soll sollte über um und uns unser vom
von vor war warum was weil welche welcher wenn wer werden wie wieder wir wird wo wurde zu zum zur
"""
_FRENCH = """
à ai as au aux avec avons ce cela ces cette comme dans de des du elle en est et être eu il ils je la le les leur lui ma
mais me mes mon même ne nos notre nous on ont ou où par pas pour pourquoi qu quand que quel quelle quels qui sa sans se
ses son sont sur ta te tes toi ton tu un une vos votre vous y
"""
_SPANISH = """
al algo como con cual cuando de del desde donde dónde el ella ellos en entre era es esa ese eso esta está están este esto
fue ha hay la las le les lo los más me mi mis muy no nos o para pero por porque que qué quien se ser si sin sobre son su
sus también te tiene tu tus un una uno unos y ya yo cómo cuál
"""
_PORTUGUESE = """
ao aos até com como da das do dos ela ele em essa esse está foi isso já lhe mas na nas não nos num o os ou pela
pelo por quais qual quando que quem são se sem seu sua também um uma você
"""
_ITALIAN = """
ai al alla che chi come con cosa cui da dal della di dove è e gli ha ho il io la le lo ma mi nel nella non per
perché più quale quando questo se si sono su sul un una uno
"""
_RUSSIAN = """
а без бы был была были было в вам вас во вот все всё вы где да для до его ее её если есть же за здесь и из или им их к
как какая какие какой когда кто ли мне мы на над нам нас не него нет ни но ну о об он она они от по под при с со так там
то того тоже только ты у уже чего чем что чтобы это эта эти этот я
"""
STOPWORDS = frozenset(
    word
    for language in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH, _PORTUGUESE, _ITALIAN, _RUSSIAN)
    for word in language.split()
)

_DECISIVE = """
no not never none neither nor without cannot dont doesnt didnt isnt arent wasnt werent wont cant couldnt shouldnt
wouldnt hasnt havent hadnt mustnt all any each every few many more most less only some both before after above below
over under on off in out up down from to by until while can could may might must shall should will would again still
nicht kein keine nie ohne nur alle ne pas jamais sans tout tous seulement nunca sin solo todo todos não sem só non mai
senza solo не нет без ни никогда только все через до после
"""
DECISIVE = frozenset(_DECISIVE.split())
"""Stop words for a search that still decide what a sentence says: negations, quantifiers, directions, obligations."""

_CHINESE = """
的 了 吗 呢 吧 啊 是 在 和 与 及 或 我 你 他 她 它 们 这 那 哪 什么 么 怎么 怎样 如何 为什么 为何 多少 几 个 些 有 没 没有 不 也 都 就 还 要 会 能 可以 请 把 被 给 对 从 到 让 用
应该 应 该 现在 一个 一下 我们 你们 他们 这个 那个 哪个 哪些 哪里 是否 需要 帮 帮我 谁 吗
"""
_JAPANESE = """
です ます した する して いる ある なる これ それ どれ この その どの ここ どこ から まで ので のは のが のに には では とは って ください 何 どう なぜ いつ
"""
STOP_SEGMENTS = frozenset([*_CHINESE.split(), *_JAPANESE.split()])
STOP_CHARACTERS = frozenset(word for word in STOP_SEGMENTS if len(word) == 1)
