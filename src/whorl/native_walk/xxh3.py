"""XXH3 with 128 bits, as `xxhash` computes it, in the systems dialect.

The input is read in place. `secret` is the address of the 192 bytes that the algorithm calls so.
"""

from __future__ import annotations

from typing import Final

from whorl.systems import cold, load, routine, store, u8, u32, u64, upto

SECRET: Final = bytes.fromhex(
    "b8fe6c3923a44bbe7c01812cf721ad1cded46de9839097db7240a4a4b7b3671f"
    "cb79e64eccc0e578825ad07dccff7221b8084674f743248ee03590e6813a264c"
    "3c2852bb91c300cb88d0658b1b532ea371644897a20df94e3819ef46a9deacd8"
    "a8fa763fe39c343ff9dcbbc7c70b4f1d8a51e04bcdb45931c89f7ec9d9787364"
    "eac5ac8334d3ebc3c581a0fffa1363eb170ddd51b7f0da49d316552629d4689e"
    "2b16be587d47a1fc8ff8b8d17ad031ce45cb3a8f95160428afd7fbcabb4b407e"
)

P32_1, P32_2, P32_3 = 0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D
P64_1, P64_2, P64_3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
P64_4, P64_5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
MX1, MX2 = 0x165667919E3779F9, 0x9FB21C651E98DF25
_LOW: Final = 2**32 - 1
_ALL: Final = 2**64 - 1
_STRIPE, _BLOCK = 64, 1024


def word_at(address: u64) -> u64:
    """Eight bytes at an address."""
    return load(address, u64)


def half_at(address: u64) -> u64:
    """Four bytes at an address."""
    return u64(load(address, u32))


def secret_at(secret: u64, place: int) -> u64:
    """Two words of the secret, one upon the other."""
    return word_at(secret + place) ^ word_at(secret + place + 8)


def product(a: u64, b: u64) -> tuple[u64, u64]:
    """The product of two words: its low and its high one."""
    a0, a1, b0, b1 = a & _LOW, a >> 32, b & _LOW, b >> 32
    low, high = a0 * b0, a1 * b1
    cross = (low >> 32) + ((a1 * b0) & _LOW) + a0 * b1
    return a * b, high + ((a1 * b0) >> 32) + (cross >> 32)


@routine
def folded(a: u64, b: u64) -> u64:
    """Both halves of the product of two words, one upon the other."""
    low, high = product(a, b)
    return low ^ high


def avalanche(value: u64) -> u64:
    """Let every bit change all others."""
    value = (value ^ (value >> 37)) * MX1
    return value ^ (value >> 32)


def older_avalanche(value: u64) -> u64:
    """The same in the way of XXH64."""
    value = (value ^ (value >> 33)) * P64_2
    value = (value ^ (value >> 29)) * P64_3
    return value ^ (value >> 32)


def swapped(value: u64) -> u64:
    """A word with its bytes in the other order."""
    value = ((value >> 8) & 0x00FF00FF00FF00FF) | ((value & 0x00FF00FF00FF00FF) << 8)
    value = ((value >> 16) & 0x0000FFFF0000FFFF) | ((value & 0x0000FFFF0000FFFF) << 16)
    return (value >> 32) | (value << 32)


@routine
def hash_short(data: u64, size: u64, secret: u64) -> tuple[u64, u64]:
    """The hash of at most 16 bytes."""
    if size > 8:
        first, last = word_at(data), word_at(data + size - 8)
        low, high = product(first ^ last ^ secret_at(secret, 32), u64(P64_1))
        low += (size - 1) << 54
        last ^= secret_at(secret, 48)
        high += last + (last & _LOW) * (P32_2 - 1)
        low ^= swapped(high)
        ending, rest = product(low, u64(P64_2))
        return avalanche(ending), avalanche(rest + high * P64_2)
    if size >= 4:
        both = half_at(data) + (half_at(data + size - 4) << 32)
        low, high = product(both ^ secret_at(secret, 16), u64(P64_1) + (size << 2))
        high += low << 1
        low ^= high >> 3
        low = (low ^ (low >> 35)) * MX2
        return low ^ (low >> 28), avalanche(high)
    if size > 0:
        first, last = u64(load(data, u8)), u64(load(data + size - 1, u8))
        middle = u64(load(data + (size >> 1), u8))
        mixed = (first << 16) | (middle << 24) | last | (size << 8)
        turned = swapped(mixed) >> 32
        turned = ((turned << 13) | (turned >> 19)) & _LOW
        low = mixed ^ half_at(secret) ^ half_at(secret + 4)
        high = turned ^ half_at(secret + 8) ^ half_at(secret + 12)
        return older_avalanche(low), older_avalanche(high)
    return older_avalanche(secret_at(secret, 64)), older_avalanche(secret_at(secret, 80))


@routine
def mixed_16(data: u64, secret: u64) -> u64:
    """Sixteen bytes of the input and of the secret."""
    return folded(word_at(data) ^ word_at(secret), word_at(data + 8) ^ word_at(secret + 8))


@routine
def mixed_32(low: u64, high: u64, one: u64, other: u64, secret: u64) -> tuple[u64, u64]:
    """What was mixed so far, and two times sixteen bytes more."""
    low = (low + mixed_16(one, secret)) ^ (word_at(other) + word_at(other + 8))
    high = (high + mixed_16(other, secret + 16)) ^ (word_at(one) + word_at(one + 8))
    return low, high


def mixed_ending(low: u64, high: u64, size: u64) -> tuple[u64, u64]:
    """The hash of what was mixed."""
    rest = low * P64_1 + high * P64_4 + size * P64_2
    return avalanche(low + high), 0 - avalanche(rest)


@routine
def hash_middle(data: u64, size: u64, secret: u64) -> tuple[u64, u64]:
    """The hash of 17 to 240 bytes."""
    low, high = size * P64_1, u64(0)
    end = data + size
    if size <= 128:
        if size > 96:
            low, high = mixed_32(low, high, data + 48, end - 64, secret + 96)
        if size > 64:
            low, high = mixed_32(low, high, data + 32, end - 48, secret + 64)
        if size > 32:
            low, high = mixed_32(low, high, data + 16, end - 32, secret + 32)
        low, high = mixed_32(low, high, data, end - 16, secret)
        return mixed_ending(low, high, size)
    for i in upto(u64(4)):
        low, high = mixed_32(low, high, data + 32 * i, data + 32 * i + 16, secret + 32 * i)
    low, high = avalanche(low), avalanche(high)
    place = u64(160)
    while place <= size:
        start = data + place - 32
        low, high = mixed_32(low, high, start, start + 16, secret + place - 157)
        place += 32
    low, high = mixed_32(low, high, end - 16, end - 32, secret + 103)
    return mixed_ending(low, high, size)


def lane(sum: u64, data: u64, secret: u64, number: int) -> u64:
    """One of the eight sums, with its word and that of its neighbour."""
    keyed = word_at(data + 8 * number) ^ word_at(secret + 8 * number)
    return sum + word_at(data + 8 * (number ^ 1)) + (keyed & _LOW) * (keyed >> 32)


def scrambled(sum: u64, secret: u64, number: int) -> u64:
    """One of the sums at the end of a block."""
    return (sum ^ (sum >> 47) ^ word_at(secret + 128 + 8 * number)) * P32_1


Sums = tuple[u64, u64, u64, u64, u64, u64, u64, u64]


def stripe(sums: Sums, data: u64, secret: u64) -> Sums:
    """The sums with 64 bytes more."""
    a, b, c, d, e, f, g, h = sums
    return (
        lane(a, data, secret, 0), lane(b, data, secret, 1), lane(c, data, secret, 2),
        lane(d, data, secret, 3), lane(e, data, secret, 4), lane(f, data, secret, 5),
        lane(g, data, secret, 6), lane(h, data, secret, 7),
    )  # fmt: skip


@cold
def hash_long(data: u64, size: u64, secret: u64) -> tuple[u64, u64]:
    """The hash of more than 240 bytes."""
    a, b, c, d = u64(P32_3), u64(P64_1), u64(P64_2), u64(P64_3)
    e, f, g, h = u64(P64_4), u64(P32_2), u64(P64_5), u64(P32_1)
    stripes = (size - 1) >> 6
    place, within = data, u64(0)
    while stripes > 0:
        key = secret + 8 * within
        a, b, c, d, e, f, g, h = stripe((a, b, c, d, e, f, g, h), place, key)
        place += _STRIPE
        within += 1
        stripes -= 1
        if within == _BLOCK // _STRIPE:
            within = u64(0)
            a, b = scrambled(a, secret, 0), scrambled(b, secret, 1)
            c, d = scrambled(c, secret, 2), scrambled(d, secret, 3)
            e, f = scrambled(e, secret, 4), scrambled(f, secret, 5)
            g, h = scrambled(g, secret, 6), scrambled(h, secret, 7)
    sums = stripe((a, b, c, d, e, f, g, h), data + size - _STRIPE, secret + 121)
    low = merged(sums, secret + 11, size * P64_1)
    return low, merged(sums, secret + 117, (size * P64_2) ^ _ALL)


@routine
def merged(sums: Sums, secret: u64, start: u64) -> u64:
    """The eight sums as one word."""
    a, b, c, d, e, f, g, h = sums
    start += folded(a ^ word_at(secret), b ^ word_at(secret + 8))
    start += folded(c ^ word_at(secret + 16), d ^ word_at(secret + 24))
    start += folded(e ^ word_at(secret + 32), f ^ word_at(secret + 40))
    start += folded(g ^ word_at(secret + 48), h ^ word_at(secret + 56))
    return avalanche(start)


def hash_128(data: u64, size: u64, secret: u64) -> tuple[u64, u64]:
    """The hash of bytes at an address: its low and its high word."""
    if size > 240:
        return hash_long(data, size, secret)
    if size > 16:
        return hash_middle(data, size, secret)
    return hash_short(data, size, secret)


@cold
def put_digest(data: u64, size: u64, secret: u64, to: u64) -> None:
    """The digest of bytes at an address, as 16 bytes at another."""
    low, high = hash_128(data, size, secret)
    store(to, swapped(high))
    store(to + 8, swapped(low))
