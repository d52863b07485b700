"""Canonical bytes: the fast way gives what RFC 8785 gives, for whatever JSON can hold."""

from __future__ import annotations

import pytest
import rfc8785
from hypothesis import example, given
from hypothesis import strategies as st

from admitone.targets.identity import canonical_bytes
from admitone.targets.values import encode

TEXTS = st.text(st.characters(exclude_categories=["Cs"])) | st.text(
    st.characters(max_codepoint=127)
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
@example({"\x7f": '\x00\x1f"\\/\b\f\n\r\t\x7f'})
@example({"b": 1, "a": [True, None, -0, 2**53]})
@example({"\ufb33": 1, "\U0001f600": 2, "é": 3})
@example([1.0, 1e16, 1e-7, 5e-324, -0.0, float("nan")])
def test_every_way_gives_the_bytes_of_the_standard(value: object) -> None:
    assert canonical_bytes(value) == rfc8785.dumps(encode(value))


@pytest.mark.parametrize("value", ["\ud800", {"\udfff": 1}])
def test_half_a_character_has_no_bytes(value: object) -> None:
    with pytest.raises(ValueError, match=r"surrogate|UTF"):
        canonical_bytes(value)
