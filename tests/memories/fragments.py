"""Texts that property tests put together from pieces of tags and entities."""

from hypothesis import strategies as st

FRAGMENTS = st.sampled_from(
    [
        *(
            "<",
            "＜",
            "﹤",
            "&lt;",
            "&lt",
            "&LT;",
            "&#60;",
            "&#x3c",
            "&#x3C;",
            "&amp;lt;",
            "&amp;",
            "&",
            "&l",
            "&#",
            "lt;",
        ),
        *(
            "&am",
            "p;",
            "#x3c;",
            "60;",
            "&#38;",
            "/",
            "semantic",
            "-",
            "memory",
            "semantic-memory",
            "SEMANTIC-memory",
        ),
        *(
            "sem",
            "antic-mem",
            "ory",
            "system-reminder",
            "System",
            "-remind",
            "er",
            ">",
            " ",
            "\n",
            "\u200b",
            "\u00ad",
        ),
        *(
            "\u2060",
            "&#115;",
            "&ZeroWidthSpace;",
            "&shy;",
            "&Ne",
            "wLine;",
            "&sol;",
            "ſ",
            "ｓ",
            "x",
            "\u0338",
            "\ufe0f",
        ),
    ]
)
PIECES = st.lists(st.one_of(FRAGMENTS, FRAGMENTS, FRAGMENTS, st.text(max_size=3)), max_size=14).map("".join)
