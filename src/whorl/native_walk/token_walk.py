"""The native walk: a value in, its digest out, in one go and without a call of Python.

It goes through a value as `value_graph` does, with a stack of its own instead of the call stack,
and writes the same tokens. What it does not know how to read it leaves out, and hands back at the
end: Python describes these objects, and the walk is done again with the answers. No code of the
user runs during a walk, so objects are borrowed, and nothing changes under it.

An object whose parts are being written is a frame:

    mode, object, cursor, end    what to do at the end, and where the next part is
    start, first                 where its tokens begin, and how many there were before it
    memo                         whether it is remembered: see `object_memo`
    mark                         what to give back of the arena that has its row of values

The frame of the object that is walked right now is in registers, those around it in a buffer.
"""

from __future__ import annotations

from typing import Final

from whorl.launch.attribute_rows import HELD_WORDS, PAIRS, VALUES, hold, pairs_of
from whorl.launch.object_words import at, class_of, word
from whorl.systems import cold, inlined, load, routine, stack, store, u8, u16, u32, u64, upto

from .key_orders import EXACT, OWN, TAG_BYTES, order_of
from .leaf_tokens import INTS, LEAVES, LONG_BYTES, ROOM, put_bytes, put_leaf
from .object_memo import OF_CLASS, OF_OBJECT, SEEN, answer_to, install, leave, meet
from .sorted_records import RECORD, put_record, sort_records
from .token_bytes import (
    BYTES_1,
    EMPTY_LIST,
    EMPTY_TUPLE,
    FLAT_LIST,
    FLAT_TUPLE,
    as_chunk,
    as_marshal,
    copy_bytes,
    put_byte,
    put_count,
    put_short_bytes,
    put_sized,
)
from .walk_state import (
    CHUNK,
    CLASSES,
    CYCLE,
    DICT_CLASS,
    DIGEST,
    ELLIPSIS,
    FLAT_AT,
    HEAD,
    HEAD_SIZE,
    KEPT,
    MEMO,
    MEMO_COUNT,
    NODE_COUNTED,
    NODE_ITEMS,
    NODE_TAG,
    NODE_VALUES,
    NONE,
    OBJECT_CLASS,
    ORDER_SLOTS,
    ORDERS,
    OUT,
    PLAIN,
    ROOT,
    SCRATCH,
    SECRET_AT,
    STACK,
    STATUS,
    TRUE,
    UNKNOWN,
    UNKNOWN_COUNT,
    Py_IncRef,
    PyDict_Next,
    PyMem_RawFree,
    PyMem_RawMalloc,
    PyTuple_New,
    PyTuple_SetItem,
    PyUnicode_FromStringAndSize,
    give_back,
    grow,
    release,
    take,
    with_room,
)
from .xxh3 import put_digest

ENTRY: Final = "whorl_walk"

# Kinds of classes, behind those of leaves.
BYTES, LIST, TUPLE, DICT, SLOTS, ATTRIBUTES, DESCRIBED, NODE = range(8, 16)

# What a frame is: its lowest bit says that the cursor is in a row of offsets.
BY_OFFSET: Final = 1
AT_ROOT, PARTS, ITEMS, ITEM, WITH_ITEMS = 0, 2, 4, 6, 8

LOOK_UP: Final = 16  # of a frame's memo: the object is shared, and was not looked up yet
FRAME: Final = 48  # bytes
FLAT: Final = 100
MANY: Final = 64  # parts from which on an object is looked up at once
SHORT_ITEM: Final = 64
_START: Final = 16  # bytes before the first token, which a chunk's head may take
_MOST_PARTS: Final = 2**31 - 1
_SLOT_OFFSETS: Final = 6  # words of a plan of slots before the offsets
_PLANS: Final = 2**64 - 16  # the address of a plan, without its kind


# -- classes ----------------------------------------------------------------------------


@inlined
def plan_of(state: u64, cls: u64) -> u64:
    """The plan of a class, with its kind in the lowest four bits; 0 if there is none."""
    table = word(state, CLASSES)
    mask = word(table, 0)
    place = (cls >> 4) ^ (cls >> 11)
    while True:
        entry = table + 16 + 16 * (place & mask)
        found = load(entry, u64)
        if found == cls:
            return load(entry + 8, u64)
        if found == 0:
            return u64(0)
        place += 1


def is_shared(value: u64) -> bool:
    """Whether more than one reference leads to an object."""
    return load(value, u32) != 1


# -- flat lists and tuples --------------------------------------------------------------


@routine
def put_flat(state: u64, items: u64, count: u64, kind: u64, pos: u64) -> tuple[u64, bool]:
    """Write a list or tuple that has nothing but leaves; whether it is one, and where it ends."""
    if count == 0:
        store(pos, u8(EMPTY_LIST) if kind == LIST else u8(EMPTY_TUPLE))
        return pos + 1, True
    before = pos - word(state, OUT)
    code = u64(FLAT_LIST) if kind == LIST else u64(FLAT_TUPLE)
    store(pos, u16(code | (count << 8)))
    pos += 2
    for i in upto(count):
        item = word(items, i)
        item_kind = plan_of(state, class_of(item)) & 15
        if item_kind - 1 >= LEAVES:
            return word(state, OUT) + before, False
        pos = with_room(state, pos, u64(ROOM))
        if pos != 0:
            pos = put_leaf(state, item_kind, item, pos)
        if pos == 0:
            return pos, False
    store(state + 8 * FLAT_AT, before)
    return pos, True


# -- chunks and items -------------------------------------------------------------------


def forget_flat(state: u64, start: u64) -> None:
    """Tokens from an offset on are gone; there may be flat ones before it."""
    if word(state, FLAT_AT) >= start:
        store(state + 8 * FLAT_AT, start - 1)


@routine
def collapse(state: u64, start: u64, pos: u64, tokens: u64) -> u64:
    """Replace the tokens from an offset on by their chunk; where that ends."""
    secret, first = word(state, SECRET_AT), word(state, OUT) + start
    digest = stack(2)
    if tokens <= 1000 and word(state, FLAT_AT) < start:
        before = load(first - 4, u32)
        store(first - 4, u32(0x285D0380))
        store(pos, u16(0x2E65))
        put_digest(first - 4, pos + 6 - first, secret, digest)
        store(first - 4, before)
    else:
        pos = with_room(state, pos, 2 * (pos - first) + ROOM)
        if pos == 0:
            return pos
        first = word(state, OUT) + start
        store(pos, u32(0x285D0380))
        end = as_chunk(first, pos, pos + 4)
        put_digest(pos, end - pos, secret, digest)
        forget_flat(state, start)
    store(first, u32(0x230100 | BYTES_1))  # one byte: #
    store(first + 3, u16(0x1000 | BYTES_1))
    copy_bytes(digest, u64(16), first + 5)
    return first + 21


@routine
def put_item(state: u64, start: u64, pos: u64, tokens: u64) -> u64:
    """Replace the tokens from an offset on by the one of an item; where that ends."""
    size = pos - word(state, OUT) - start
    pos = with_room(state, pos, 5 * size + ROOM)
    if pos == 0:
        return pos
    first = word(state, OUT) + start
    end = as_marshal(first, pos, put_sized(pos, 0x5B, tokens))
    forget_flat(state, start)
    size = end - pos
    if size > SHORT_ITEM:
        put_digest(pos, size, word(state, SECRET_AT), first + 3)
        store(first, u16(0x1100 | BYTES_1))
        put_byte(first + 2, 0x23)
        return first + 19
    scratch = stack(10)
    copy_bytes(pos, size, scratch)
    store(first, u16((size << 8) | BYTES_1))
    copy_bytes(scratch, size, first + 2)
    return first + 2 + size


@routine
def sort_items(state: u64, start: u64, pos: u64, count: u64) -> u64:
    """Sort items, each of which is one token, from an offset on; where they end."""
    size = pos - word(state, OUT) - start
    pos = with_room(state, pos, size + ROOM)
    mark = word(state, SCRATCH + 1)
    records = take(state, SCRATCH, RECORD * (2 * count + 2))
    if pos == 0 or records == 0:
        return u64(0)
    first = word(state, OUT) + start
    place = first
    for i in upto(count):
        length = u64(load(place + 1, u8))
        put_record(records + RECORD * i, place + 2, length, u64(0))
        place += 2 + length
    ordered = sort_records(records, count, records + RECORD * (count + 1))
    place = pos
    for i in upto(count):
        record = ordered + RECORD * i
        length = word(record, 2)
        copy_bytes(word(record, 1) - 2, length + 2, place)
        place += 2 + length
    copy_bytes(pos, size, first)
    release(state, SCRATCH, mark)
    return pos


# -- dicts and attributes ---------------------------------------------------------------


@routine
def dict_row(state: u64, dict: u64, plan: u64) -> tuple[u64, u64]:
    """The order of a dict and its values in that order; 0 and 0 if they are not found here."""
    held = stack(4)
    keys = load(dict + at.dict_keys, u64)
    values = load(dict + at.dict_values, u64)
    is_text = load(keys + at.keys_kind, u8) != 0
    if is_text and (values == 0 or at.class_keys != 0):
        names, count = pairs_of(keys), load(keys + at.keys_count, u64)
        first = names + 8 if values == 0 else values + at.values_start
        shift = u64(PAIRS) if values == 0 else u64(VALUES)
        return ordered_row(state, plan, names, first, shift, count)
    if is_text:
        return u64(0), u64(0)
    # Keys of any kind: those that are all small ints are sorted here.
    size = load(dict + at.dict_size, u64)
    rows = take(state, SCRATCH, 16 * size + 16)
    if rows == 0:
        return u64(0), u64(0)
    store(held, u64(0))
    number = u64(0)
    while number < size and u32(PyDict_Next(state, dict, held, held + 8, held + 16)) != 0:
        key = word(held, 1)
        if plan_of(state, class_of(key)) & 15 != INTS:
            return u64(0), u64(0)
        store(rows + 8 * number, key)
        store(rows + 8 * (size + number), word(held, 2))
        number += 1
    if number != size:
        return u64(0), u64(0)
    order = order_of(state, plan, rows, size, is_text)
    if order == 0:
        return order, order
    return order, in_order(state, order, rows + 8 * size)


@routine
def ordered_row(
    state: u64, plan: u64, names: u64, values: u64, shift: u64, count: u64
) -> tuple[u64, u64]:
    """The order of named values and the values in that order; 0 and 0 if it is not found here."""
    rows = take(state, SCRATCH, 16 * count + 16)
    if rows == 0:
        return rows, rows
    number, is_text = u64(0), shift != 0
    for i in upto(count):
        value = load(values + (i << (shift & 63)), u64)
        if value != 0:
            store(rows + 8 * number, load(names + (i << PAIRS), u64))
            store(rows + 8 * (count + number), value)
            number += 1
    order = order_of(state, plan, rows, number, is_text)
    if order == 0:
        return order, order
    return order, in_order(state, order, rows + 8 * count)


def in_order(state: u64, order: u64, values: u64) -> u64:
    """Values in an order: a new row of them; 0 if there is no memory."""
    count, written = word(order, 2), word(order, 3)
    row = take(state, SCRATCH, 8 * written + 8)
    if row != 0:
        for i in upto(written):
            store(row + 8 * i, word(values, word(order, 7 + count + i)))
    return row


@routine
def attribute_row(state: u64, value: u64, plan: u64) -> tuple[u64, u64]:
    """The order of an instance's attributes and their values; 0 and 0 if not found here."""
    held = stack(HELD_WORDS)
    dict = load(value + word(plan, 2), u64)
    if dict != 0 and dict & 1 == 0 and class_of(dict) != word(state, DICT_CLASS):
        return u64(0), u64(0)
    if not hold(value, word(plan, 1), word(plan, 2), word(plan, 3), held):
        return u64(0), u64(0)
    order, row = ordered_row(
        state, plan, word(held, 0), word(held, 1), word(held, 2), word(held, 3)
    )
    is_member = row != 0 and word(plan, 0) & EXACT != 0  # of an enum: its name, its value
    if is_member and class_of(word(row, 1)) == word(state, OBJECT_CLASS):
        return u64(0), u64(0)
    return order, row


def has_slots(value: u64, plan: u64) -> bool:
    """Whether all slots of an instance are set."""
    for i in upto(word(plan, 2)):
        if load(value + word(plan, _SLOT_OFFSETS + i), u64) == 0:
            return False
    return True


# -- frames -----------------------------------------------------------------------------


def frame_room(state: u64, top: u64) -> u64:
    """Where the next frame goes; 0 if there is no memory for it."""
    if top + FRAME <= word(state, STACK + 1):
        return top
    used = top - word(state, STACK)
    if not grow(state, STACK, used, u64(FRAME)):
        return u64(0)
    return word(state, STACK) + used


def put_frame(
    top: u64, mode: u64, memo: u64, first: u64, object: u64, cursor: u64, end: u64, start: u64,
    mark: u64,
) -> u64:  # fmt: skip
    """Put a frame down; where the next one goes."""
    store(top, mode | (memo << 8) | (first << 16))
    store(top + 8, object)
    store(top + 16, cursor)
    store(top + 24, end)
    store(top + 32, start)
    store(top + 40, mark)
    return top + FRAME


@routine
def replay(state: u64, start: u64, copy: u64) -> u64:
    """Write the tokens of an object again, at an offset; where they end."""
    size = word(copy, 0)
    pos = with_room(state, word(state, OUT) + start, size + ROOM)
    if pos != 0:
        copy_bytes(copy + 16, size, pos)
        store(state + 8 * FLAT_AT, start)  # there may be one
        pos += size
    return pos


def put_tag_token(pos: u64, tag: u64) -> u64:
    """Write a tag that was put down as a token; where it ends."""
    copy_bytes(tag, u64(24), pos)
    return pos + TAG_BYTES


# -- the walk ---------------------------------------------------------------------------


@routine
def put_node(state: u64, node: u64, pos: u64) -> tuple[u64, u64]:
    """Write what comes before the values of a node: where it ends, how many tokens it has."""
    tag = load(node + word(state, NODE_TAG), u64)
    size = load(tag + at.bytes_size, u64)
    pos = with_room(state, pos, size + ROOM)
    if size > 255 or pos == 0:
        store(state + 8 * STATUS, u64(PLAIN))
        return u64(0), u64(0)
    pos = put_short_bytes(pos, tag + at.bytes_data, size)
    if load(node + word(state, NODE_COUNTED), u64) != word(state, TRUE):
        return pos, u64(1)
    values = load(node + word(state, NODE_VALUES), u64)
    return put_count(pos, load(values + at.tuple_size, u64)), u64(2)


@routine
def put_own(state: u64, value: u64, plan: u64, pos: u64) -> u64:
    """Write what stands for the code of a class without a name; where it ends, 0 if not known."""
    own = answer_to(state, value, class_of(value) + OF_CLASS)
    if own == 0:
        return own
    size = load(own + at.bytes_size, u64)
    pos = with_room(state, pos, size + ROOM)
    if pos == 0:
        return pos
    copy_bytes(own + at.bytes_data, size, pos)
    return pos + size


@routine
def walk_all(state: u64, value: u64) -> tuple[u64, u64]:
    """Write the tokens of a value: where they end, and how many they are; 0 and 0 if it cannot."""
    pos = word(state, OUT) + _START
    tokens, top = u64(0), word(state, STACK)
    store(state + 8 * ROOT, value)
    mode, object = u64(AT_ROOT), u64(0)
    cursor: u64 = state + 8 * ROOT
    end = cursor + 8
    start, first, memo, mark = u64(_START), u64(0), u64(0), u64(0)
    while True:
        if cursor == end:
            done = mode & 0xFE
            if done == AT_ROOT:
                return pos, tokens
            if done == WITH_ITEMS:
                # The node itself waits at its end until its items are done.
                items = load(object + word(state, NODE_ITEMS), u64)
                size = load(items + at.tuple_size, u64)
                pos, top = with_room(state, pos, u64(ROOM)), frame_room(state, top)
                if pos == 0 or top == 0:
                    break
                pos = put_count(pos, size)
                tokens += 1
                top = put_frame(top, u64(PARTS), memo, first, object, end, end, start, mark)
                mode, object, cursor = u64(ITEMS), u64(0), items + at.tuple_items
                end = cursor + 8 * size
                start, first = pos - word(state, OUT), tokens
                memo, mark = u64(0), u64(0)
                continue
            if done == ITEMS:
                pos = sort_items(state, start, pos, tokens - first)
            elif done == ITEM:
                pos = put_item(state, start, pos, tokens - first)
                tokens = first + 1
            else:
                if tokens - first >= CHUNK:
                    pos = collapse(state, start, pos, tokens - first)
                    tokens = first + 2
                if pos != 0 and memo - 1 < LOOK_UP - 1:
                    begin = word(state, OUT) + start
                    if not leave(state, object, memo, begin, pos - begin, tokens - first):
                        break
            if pos == 0:
                break
            if mark != 0:
                release(state, SCRATCH, mark)
            top -= FRAME
            packed = word(top, 0)
            mode, memo, first = packed & 0xFF, (packed >> 8) & 0xFF, packed >> 16
            object, cursor, end = word(top, 1), word(top, 2), word(top, 3)
            start, mark = word(top, 4), word(top, 5)
            continue
        place = object + load(cursor, u64) if mode & BY_OFFSET != 0 else cursor
        child = load(place, u64)
        cursor += 8
        pos = with_room(state, pos, u64(ROOM))
        if pos == 0:
            break
        cls = class_of(child)
        plan = plan_of(state, cls)
        kind = plan & 15
        if kind - 1 < LEAVES:
            pos = put_leaf(state, kind, child, pos)
            if pos == 0:
                break
            tokens += 1
            continue
        if kind == BYTES:
            is_long = load(child + at.bytes_size, u64) >= LONG_BYTES
            pos = put_bytes(state, child, pos)
            if pos == 0:
                break
            tokens += u64(3) if is_long else u64(2)
            continue
        count, row = u64(0), u64(0)
        if kind == LIST:
            count, row = load(child + at.list_size, u64), load(child + at.list_items, u64)
        if kind == TUPLE:
            count, row = load(child + at.tuple_size, u64), child + at.tuple_items
        if kind - LIST < 2 and count <= FLAT and mode != ITEMS:
            pos, is_flat = put_flat(state, row, count, kind, pos)
            if pos == 0:
                break
            if is_flat:
                tokens += 1
                continue
        if count > _MOST_PARTS:
            store(state + 8 * STATUS, u64(PLAIN))
            break
        if memo == LOOK_UP:
            # The walk goes on to parts of parts: now it is worth knowing the object they are of.
            known = meet(state, object)
            if known == SEEN:
                store(state + 8 * STATUS, u64(CYCLE))
            if known == SEEN or known == 0:
                break
            if known > LOOK_UP:
                pos = replay(state, start, known)
                if pos == 0:
                    break
                tokens = first + word(known, 1)
                mode, cursor, memo = u64(PARTS), end, u64(0)
                continue
            memo = known
        # From here on `child` is a frame of its own, unless Python has to describe it.
        begin, before = pos - word(state, OUT), tokens
        free = word(state, SCRATCH + 1)
        next_mode, next_mark = u64(PARTS), u64(0)
        next_memo = u64(LOOK_UP) if is_shared(child) else u64(0)
        node = u64(0)
        if kind - LIST < 2:
            if mode == ITEMS:
                next_mode, next_memo = u64(ITEM), u64(0)
            else:
                store(pos, u32(0x4C0100 | BYTES_1) if kind == LIST else u32(0x540100 | BYTES_1))
                pos = put_count(pos + 3, count)
                tokens += 2
        elif kind == NODE:
            node = child
        elif plan == 0:
            # With an answer: another thread had the class forgotten since it was asked about.
            if answer_to(state, child, cls + OF_CLASS) != 0 or word(state, STATUS) != 0:
                break
            continue
        else:
            order, is_known = u64(0), False
            if kind == SLOTS:
                row, count = plan - SLOTS + 8 * _SLOT_OFFSETS, word(plan - SLOTS, 2)
                is_known = has_slots(child, plan - SLOTS)
                order, next_mode = plan - SLOTS - 8, u64(PARTS | BY_OFFSET)
            if kind == DICT:
                order, row = dict_row(state, child, plan - DICT)
            if kind == ATTRIBUTES:
                order, row = attribute_row(state, child, plan - ATTRIBUTES)
            if kind != SLOTS and order != 0:
                is_known, count, next_mark = row != 0, word(order, 3), free
            if is_known:
                pos = put_tag_token(pos, order + 32)
                tokens += 1
                if kind != DICT and word(plan & _PLANS, 0) & OWN != 0:
                    pos = put_own(state, child, plan, pos)
                    if pos == 0:
                        if word(state, STATUS) != 0:
                            break
                        pos, tokens = word(state, OUT) + begin, before
                        release(state, SCRATCH, free)
                        continue
                    tokens += 3
            else:
                release(state, SCRATCH, free)
                next_mode, next_mark = u64(PARTS), u64(0)
                if word(state, STATUS) == 0:
                    node = answer_to(state, child, child + OF_OBJECT)
                if word(state, STATUS) != 0:
                    break
                if node == 0:
                    continue
        if node != 0:
            pos, size = put_node(state, node, pos)
            if pos == 0:
                break
            tokens += size
            values = load(node + word(state, NODE_VALUES), u64)
            count, row = load(values + at.tuple_size, u64), values + at.tuple_items
            if load(node + word(state, NODE_ITEMS), u64) != word(state, NONE):
                next_mode = u64(WITH_ITEMS)
            child, next_memo = node, u64(LOOK_UP)
        # The frame of a node with items waits below that of the items: it is never looked up later.
        if next_memo != 0 and (count > MANY or next_mode == WITH_ITEMS):
            known = meet(state, child)
            if known == SEEN:
                store(state + 8 * STATUS, u64(CYCLE))
            if known == SEEN or known == 0:
                break
            if known > LOOK_UP:
                pos = replay(state, begin, known)
                if pos == 0:
                    break
                tokens = before + word(known, 1)
                release(state, SCRATCH, free)
                continue
            next_memo = known
        top = frame_room(state, top)
        if top == 0:
            break
        top = put_frame(top, mode, memo, first, object, cursor, end, start, mark)
        mode, object, cursor, end = next_mode, child, row, row + 8 * count
        start, first, memo, mark = begin, before, next_memo, next_mark
    return u64(0), u64(0)


# -- the entry --------------------------------------------------------------------------


@cold
def install_answers(state: u64, answers: u64) -> None:
    """Put down the answers of Python: pairs of keys and addresses."""
    pairs = answers + at.bytes_data
    for i in upto(load(answers + at.bytes_size, u64) >> 4):
        install(state, word(pairs, 2 * i), word(pairs, 2 * i + 1))


def put_hex(digest: u64, to: u64) -> None:
    """The sixteen bytes of a digest in hexadecimal digits."""
    for i in upto(u64(32)):
        byte = load(digest + (i >> 1), u8)
        half = u64(byte & 15) if i & 1 != 0 else u64(byte >> 4)
        store(to + i, u8(half + 48) if half < 10 else u8(half + 87))


@routine
def put_whole(state: u64, pos: u64, tokens: u64) -> bool:
    """Put down the digest of all tokens; whether there is memory for that."""
    first, head = word(state, OUT) + _START, word(state, HEAD_SIZE)
    pos = with_room(state, pos, 5 * (pos - first) + head + ROOM)
    if pos == 0:
        return False
    first = word(state, OUT) + _START
    place = put_sized(pos, 0x28, u64(2))  # a tuple of the head and the list of tokens
    copy_bytes(word(state, HEAD), head, place)
    place = put_sized(place + head, 0x5B, tokens)
    end = as_marshal(first, pos, place)
    digest = stack(2)
    put_digest(pos, end - pos, word(state, SECRET_AT), digest)
    put_hex(digest, state + 8 * DIGEST)
    return True


@cold
def clear(state: u64) -> None:
    """Give all memory back, so that another walk can begin."""
    give_back(state, OUT)
    give_back(state, STACK)
    give_back(state, UNKNOWN)
    give_back(state, MEMO)
    if word(state, MEMO_COUNT) != 0:
        table = word(state, MEMO)
        for i in upto((word(state, MEMO + 1) - table) >> 3):
            store(table + 8 * i, u64(0))
        store(state + 8 * MEMO_COUNT, u64(0))
    if word(state, KEPT + 1) != word(state, KEPT + 3):
        orders = word(state, ORDERS)
        for i in upto(u64(ORDER_SLOTS)):
            store(orders + 8 * i, u64(0))
        release(state, KEPT, word(state, KEPT + 3))
    release(state, SCRATCH, word(state, SCRATCH + 3))


@cold
def no_digest(state: u64) -> u64:
    """None: the value is for the plain walk."""
    clear(state)
    Py_IncRef(state, word(state, NONE))
    return word(state, NONE)


@cold
def questions(state: u64) -> u64:
    """A tuple of what Python has to describe: each object, and whether it is about its class.

    None if there is no memory to list them.
    """
    count = word(state, UNKNOWN_COUNT)
    listed = PyMem_RawMalloc(state, 8 * count)
    if listed == 0:
        return no_digest(state)
    for i in upto(count):
        value = word(word(state, UNKNOWN), i)
        store(listed + 8 * i, value)
        Py_IncRef(state, value - (value & 1))
    clear(state)  # a new tuple may run the collector, and that anything, another walk too
    found = PyTuple_New(state, 2 * count)
    for i in upto(count):
        value = word(listed, i)
        about = word(state, ELLIPSIS) if value & 1 != 0 else word(state, NONE)
        if found != 0:
            Py_IncRef(state, about)
            PyTuple_SetItem(state, found, 2 * i, value - (value & 1))
            PyTuple_SetItem(state, found, 2 * i + 1, about)
    PyMem_RawFree(state, listed)
    return found


def whorl_walk(self: u64, args: u64, count: u64) -> u64:
    """The digest of a value as a text; a tuple of questions; None if it is for the plain walk.

    A method of a bytes object that has the address of the state and that of three words: where the
    table of classes is, where the head is, and how long. Arguments: the value, and if there were
    questions, the answers.
    """
    state, policy = load(self + at.bytes_data, u64), load(self + at.bytes_data + 8, u64)
    store(state + 8 * CLASSES, word(policy, 0))
    store(state + 8 * HEAD, word(policy, 1))
    store(state + 8 * HEAD_SIZE, word(policy, 2))
    store(state + 8 * STATUS, u64(0))
    store(state + 8 * UNKNOWN_COUNT, u64(0))
    store(state + 8 * FLAT_AT, u64(0))
    if count > 1:
        install_answers(state, word(args, 1))
    pos, tokens = walk_all(state, word(args, 0))
    if pos != 0 and word(state, STATUS) == 0:
        if word(state, UNKNOWN_COUNT) != 0:
            return questions(state)
        if put_whole(state, pos, tokens):
            clear(state)
            return PyUnicode_FromStringAndSize(state, state + 8 * DIGEST, u64(32))
    return no_digest(state)
