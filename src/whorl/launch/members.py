"""Arrays and attributes: the launcher's parts that check them in tight loops, as LLVM's text.

Members of one object with the same dtype, dimensions and flags are one run: what is expected
stays in the machine's registers, and each member is an entry of a few words.

    entries of a run in slots          offset, word of the record              two half words
    entries of a run of attributes     name, word, number among shared keys,   one word,
                                       number in a dict of its own, nothing    four half words

An attribute is read by the number at which its name stood when the table was made. The name is
compared on every launch; where another one stands there now, the dict is asked. A dict whose
keys are all texts runs no code of anybody when it is asked, and no other is read here.
"""

from __future__ import annotations

from typing import Final

from .object_layout import ObjectLayout

__all__ = [
    "ARRAYS",
    "ATTRIBUTES",
    "BARE",
    "EXTENTS",
    "HELD_WORDS",
    "MEMBER_BYTES",
    "SLOT_BYTES",
    "STRIDES",
    "inline_text",
]

HELD_WORDS: Final = 5  # registers: names, values, shift, count, dict; as in `instances.Held`
EXTENTS, STRIDES, BARE = 0, 1, 2  # what of an array is put down beside its address
SLOT_BYTES: Final = 8
MEMBER_BYTES: Final = 24

ARRAYS: Final = """
define internal i1 @is_array(ptr %object, ptr %ndarray, ptr %dtype, i32 %ndim, i32 %mask,
    i32 %bits) alwaysinline {{
entry:
  %class = call ptr @class_of(ptr %object)
  %is_array = icmp eq ptr %class, %ndarray
  br i1 %is_array, label %look, label %no
look:
  %dtype_place = call ptr @at(ptr %object, i64 {dtype})
  %dtype_found = load ptr, ptr %dtype_place
  %is_dtype = icmp eq ptr %dtype_found, %dtype
  %ndim_place = call ptr @at(ptr %object, i64 {ndim})
  %ndim_found = load i32, ptr %ndim_place
  %is_ndim = icmp eq i32 %ndim_found, %ndim
  %flags_place = call ptr @at(ptr %object, i64 {flags})
  %flags_found = load i32, ptr %flags_place
  %flags_masked = and i32 %flags_found, %mask
  %is_flags = icmp eq i32 %flags_masked, %bits
  %both = and i1 %is_dtype, %is_ndim
  %all = and i1 %both, %is_flags
  ret i1 %all
no:
  ret i1 false
}}

define internal void @fill_bare(ptr %object, ptr %target) alwaysinline {{
  %data_place = call ptr @at(ptr %object, i64 {data})
  %data = load i64, ptr %data_place
  store i64 %data, ptr %target
  ret void
}}

define internal void @fill_flat(ptr %object, ptr %target) alwaysinline {{
  %data_place = call ptr @at(ptr %object, i64 {data})
  %data = load i64, ptr %data_place
  store i64 %data, ptr %target
  %shape_place = call ptr @at(ptr %object, i64 {shape})
  %shape = load ptr, ptr %shape_place
  %extent = load i64, ptr %shape
  %extent_place = getelementptr inbounds i64, ptr %target, i64 1
  store i64 %extent, ptr %extent_place
  ret void
}}

define internal void @fill(ptr %object, ptr %target, i64 %ndim, i1 %has_strides) alwaysinline {{
entry:
  %data_place = call ptr @at(ptr %object, i64 {data})
  %data = load i64, ptr %data_place
  store i64 %data, ptr %target
  %shape_place = call ptr @at(ptr %object, i64 {shape})
  %shape = load ptr, ptr %shape_place
  %strides_place = call ptr @at(ptr %object, i64 {strides})
  %strides = load ptr, ptr %strides_place
  br label %head
head:
  %axis = phi i64 [ 0, %entry ], [ %after, %next ]
  %more = icmp slt i64 %axis, %ndim
  br i1 %more, label %round, label %end
round:
  %extent = call i64 @word(ptr %shape, i64 %axis)
  %after = add i64 %axis, 1
  %extent_place = getelementptr inbounds i64, ptr %target, i64 %after
  store i64 %extent, ptr %extent_place
  br i1 %has_strides, label %stride, label %next
stride:
  %step = call i64 @word(ptr %strides, i64 %axis)
  %number = add i64 %after, %ndim
  %step_place = getelementptr inbounds i64, ptr %target, i64 %number
  store i64 %step, ptr %step_place
  br label %next
next:
  br label %head
end:
  ret void
}}

; A run of arrays at offsets from one place: arguments, or the slots of an object.
define internal i1 @arrays(ptr %owner, ptr %op, ptr %ndarray, ptr %record) {{
entry:
  %count = call i64 @word(ptr %op, i64 2)
  %dtype = call ptr @api(ptr %op, i64 3)
  %ndim_wide = call i64 @word(ptr %op, i64 4)
  %ndim = trunc i64 %ndim_wide to i32
  %mask_and_bits = call i64 @word(ptr %op, i64 5)
  %mask = trunc i64 %mask_and_bits to i32
  %bits_wide = lshr i64 %mask_and_bits, 32
  %bits = trunc i64 %bits_wide to i32
  %entries = call ptr @api(ptr %op, i64 6)
  %extents = call i64 @word(ptr %op, i64 7)
  %has_strides = icmp eq i64 %extents, 1
  %is_one = icmp eq i64 %ndim_wide, 1
  %is_plain = icmp eq i64 %extents, 0
  %is_flat = and i1 %is_one, %is_plain
  %is_bare = icmp eq i64 %extents, 2
  br i1 %is_bare, label %bare, label %not_bare
not_bare:
  br i1 %is_flat, label %flat, label %deep

bare:
  %k = phi i64 [ 0, %entry ], [ %k_next, %bare_well ]
  %bare_entry = getelementptr inbounds i64, ptr %entries, i64 %k
  %bare_both = load i64, ptr %bare_entry
  %bare_offset = and i64 %bare_both, 4294967295
  %bare_word = lshr i64 %bare_both, 32
  %bare_place = call ptr @at(ptr %owner, i64 %bare_offset)
  %bare_object = load ptr, ptr %bare_place
  %bare_empty = icmp eq ptr %bare_object, null
  br i1 %bare_empty, label %no, label %bare_look
bare_look:
  %bare_good = call i1 @is_array(ptr %bare_object, ptr %ndarray, ptr %dtype, i32 %ndim, i32 %mask,
    i32 %bits)
  br i1 %bare_good, label %bare_well, label %no
bare_well:
  %bare_target = getelementptr inbounds i64, ptr %record, i64 %bare_word
  call void @fill_bare(ptr %bare_object, ptr %bare_target)
  %k_next = add nuw i64 %k, 1
  %bare_last = icmp eq i64 %k_next, %count
  br i1 %bare_last, label %yes, label %bare

flat:
  %i = phi i64 [ 0, %not_bare ], [ %i_next, %flat_well ]
  %entry_place = getelementptr inbounds i64, ptr %entries, i64 %i
  %both = load i64, ptr %entry_place
  %offset = and i64 %both, 4294967295
  %word = lshr i64 %both, 32
  %place = call ptr @at(ptr %owner, i64 %offset)
  %object = load ptr, ptr %place
  %is_empty = icmp eq ptr %object, null
  br i1 %is_empty, label %no, label %flat_look
flat_look:
  %is_good = call i1 @is_array(ptr %object, ptr %ndarray, ptr %dtype, i32 1, i32 %mask, i32 %bits)
  br i1 %is_good, label %flat_well, label %no
flat_well:
  %target = getelementptr inbounds i64, ptr %record, i64 %word
  call void @fill_flat(ptr %object, ptr %target)
  %i_next = add nuw i64 %i, 1
  %is_last = icmp eq i64 %i_next, %count
  br i1 %is_last, label %yes, label %flat

deep:
  %j = phi i64 [ 0, %not_bare ], [ %j_next, %deep_well ]
  %deep_entry = getelementptr inbounds i64, ptr %entries, i64 %j
  %deep_both = load i64, ptr %deep_entry
  %deep_offset = and i64 %deep_both, 4294967295
  %deep_word = lshr i64 %deep_both, 32
  %deep_place = call ptr @at(ptr %owner, i64 %deep_offset)
  %deep_object = load ptr, ptr %deep_place
  %deep_empty = icmp eq ptr %deep_object, null
  br i1 %deep_empty, label %no, label %deep_look
deep_look:
  %deep_good = call i1 @is_array(ptr %deep_object, ptr %ndarray, ptr %dtype, i32 %ndim, i32 %mask,
    i32 %bits)
  br i1 %deep_good, label %deep_well, label %no
deep_well:
  %deep_target = getelementptr inbounds i64, ptr %record, i64 %deep_word
  call void @fill(ptr %deep_object, ptr %deep_target, i64 %ndim_wide, i1 %has_strides)
  %j_next = add nuw i64 %j, 1
  %deep_last = icmp eq i64 %j_next, %count
  br i1 %deep_last, label %yes, label %deep
yes:
  ret i1 true
no:
  ret i1 false
}}
"""

ATTRIBUTES: Final = """
define internal ptr @pairs_of(ptr %keys) alwaysinline {{
  %bits_place = call ptr @at(ptr %keys, i64 {keys_index_bits})
  %bits = load i8, ptr %bits_place
  %bits_wide = zext i8 %bits to i64
  %index_size = shl i64 1, %bits_wide
  %index = call ptr @at(ptr %keys, i64 {keys_start})
  %pairs = call ptr @at(ptr %index, i64 %index_size)
  ret ptr %pairs
}}

; Where an object keeps its attributes: see `instances.held`, which does the same in Python.
; %dict_at: where its dict is; %inline_at: 0 if its class has no inline values.
define internal i1 @hold(ptr %object, ptr %class, i64 %dict_at, i64 %inline_at, ptr %out) {{
entry:
  %dict_place = call ptr @at(ptr %object, i64 %dict_at)
  %dict_word = load i64, ptr %dict_place
  %odd = and i64 %dict_word, 1
  %is_odd = icmp ne i64 %odd, 0
  %is_none = icmp eq i64 %dict_word, 0
  %is_no_dict = or i1 %is_odd, %is_none
  br i1 %is_no_dict, label %inline, label %in_dict

inline:
{inline_values}
inline_keys:
  %class_keys_place = call ptr @at(ptr %class, i64 {class_keys})
  %class_keys = load ptr, ptr %class_keys_place
  %is_without_keys = icmp eq ptr %class_keys, null
  br i1 %is_without_keys, label %no, label %done

in_dict:
  %dict = load ptr, ptr %dict_place
  %keys_place = call ptr @at(ptr %dict, i64 {dict_keys})
  %keys = load ptr, ptr %keys_place
  %kind_place = call ptr @at(ptr %keys, i64 {keys_kind})
  %kind = load i8, ptr %kind_place
  %is_mixed = icmp eq i8 %kind, 0
  br i1 %is_mixed, label %no, label %texts
texts:
  %values_place = call ptr @at(ptr %dict, i64 {dict_values})
  %row = load ptr, ptr %values_place
  %is_combined = icmp eq ptr %row, null
  br i1 %is_combined, label %combined, label %split
combined:
  %own_pairs = call ptr @pairs_of(ptr %keys)
  %own_values = call ptr @at(ptr %own_pairs, i64 8)
  br label %done
split:
  %split_values = call ptr @at(ptr %row, i64 {values_start})
  %is_known = icmp ne i64 {class_keys}, 0
  br i1 %is_known, label %done, label %no

done:
  %keys_used = phi ptr [ %class_keys, %inline_keys ], [ %keys, %combined ], [ %keys, %split ]
  %values = phi ptr [ %inline_row, %inline_keys ], [ %own_values, %combined ],
    [ %split_values, %split ]
  %shift = phi i64 [ 3, %inline_keys ], [ 4, %combined ], [ 3, %split ]
  %dict_used = phi ptr [ null, %inline_keys ], [ %dict, %combined ], [ %dict, %split ]
  %pairs = call ptr @pairs_of(ptr %keys_used)
  %count_place = call ptr @at(ptr %keys_used, i64 {keys_count})
  %count = load i64, ptr %count_place
  store ptr %pairs, ptr %out
  %out_values = getelementptr inbounds i64, ptr %out, i64 1
  store ptr %values, ptr %out_values
  %out_shift = getelementptr inbounds i64, ptr %out, i64 2
  store i64 %shift, ptr %out_shift
  %out_count = getelementptr inbounds i64, ptr %out, i64 3
  store i64 %count, ptr %out_count
  %out_dict = getelementptr inbounds i64, ptr %out, i64 4
  store ptr %dict_used, ptr %out_dict
  ret i1 true
no:
  ret i1 false
}}

; What a name leads to, or null: an error may be set then.
define internal ptr @asked(ptr %api, ptr %dict, ptr %name) noinline {{
entry:
  %is_inline = icmp eq ptr %dict, null
  br i1 %is_inline, label %no, label %ask
ask:
  %get = call ptr @api(ptr %api, i64 {api_PyDict_GetItemWithError})
  %found = call ptr %get(ptr %dict, ptr %name)
  ret ptr %found
no:
  ret ptr null
}}

define internal ptr @attribute(ptr %api, ptr %names, ptr %values, i64 %shift, i64 %count, ptr %dict,
    ptr %name, i64 %number) alwaysinline {{
entry:
  %is_there = icmp ult i64 %number, %count
  br i1 %is_there, label %compare, label %ask
compare:
  %pair_at = shl i64 %number, 4
  %pair = call ptr @at(ptr %names, i64 %pair_at)
  %name_found = load ptr, ptr %pair
  %is_name = icmp eq ptr %name_found, %name
  br i1 %is_name, label %take, label %ask
take:
  %value_at = shl i64 %number, %shift
  %value_place = call ptr @at(ptr %values, i64 %value_at)
  %value = load ptr, ptr %value_place
  br label %end
ask:
  %asked = call ptr @asked(ptr %api, ptr %dict, ptr %name)
  br label %end
end:
  %found = phi ptr [ %value, %take ], [ %asked, %ask ]
  ret ptr %found
}}

; One attribute of an object that is held.
define internal ptr @member(ptr %api, ptr %held, ptr %name, i64 %numbers) {{
entry:
  %names = call ptr @api(ptr %held, i64 0)
  %values = call ptr @api(ptr %held, i64 1)
  %shift = call i64 @word(ptr %held, i64 2)
  %count = call i64 @word(ptr %held, i64 3)
  %dict = call ptr @api(ptr %held, i64 4)
  %is_combined = icmp eq i64 %shift, 4
  %shared = and i64 %numbers, 4294967295
  %own = lshr i64 %numbers, 32
  %number = select i1 %is_combined, i64 %own, i64 %shared
  %found = call ptr @attribute(ptr %api, ptr %names, ptr %values, i64 %shift, i64 %count, ptr %dict,
    ptr %name, i64 %number)
  ret ptr %found
}}

; A run of arrays among the attributes of an object that is held.
define internal i1 @members(ptr %api, ptr %held, ptr %op, ptr %ndarray, ptr %record) {{
entry:
  %names = call ptr @api(ptr %held, i64 0)
  %values = call ptr @api(ptr %held, i64 1)
  %shift = call i64 @word(ptr %held, i64 2)
  %all = call i64 @word(ptr %held, i64 3)
  %dict = call ptr @api(ptr %held, i64 4)
  %is_combined = icmp eq i64 %shift, 4
  %number_at = select i1 %is_combined, i64 16, i64 12
  %count = call i64 @word(ptr %op, i64 2)
  %dtype = call ptr @api(ptr %op, i64 3)
  %ndim_wide = call i64 @word(ptr %op, i64 4)
  %ndim = trunc i64 %ndim_wide to i32
  %mask_and_bits = call i64 @word(ptr %op, i64 5)
  %mask = trunc i64 %mask_and_bits to i32
  %bits_wide = lshr i64 %mask_and_bits, 32
  %bits = trunc i64 %bits_wide to i32
  %entries = call ptr @api(ptr %op, i64 6)
  %extents = call i64 @word(ptr %op, i64 7)
  %has_strides = icmp eq i64 %extents, 1
  %is_one = icmp eq i64 %ndim_wide, 1
  %is_plain = icmp eq i64 %extents, 0
  %is_flat = and i1 %is_one, %is_plain
  %is_bare = icmp eq i64 %extents, 2
  br label %round

round:
  %i = phi i64 [ 0, %entry ], [ %i_next, %filled ]
  %entry_at = mul nuw i64 %i, 24
  %place = call ptr @at(ptr %entries, i64 %entry_at)
  %name = load ptr, ptr %place
  %number_place = call ptr @at(ptr %place, i64 %number_at)
  %number_half = load i32, ptr %number_place
  %number = zext i32 %number_half to i64
  %object = call ptr @attribute(ptr %api, ptr %names, ptr %values, i64 %shift, i64 %all, ptr %dict,
    ptr %name, i64 %number)
  %is_empty = icmp eq ptr %object, null
  br i1 %is_empty, label %no, label %look
look:
  %is_good = call i1 @is_array(ptr %object, ptr %ndarray, ptr %dtype, i32 %ndim, i32 %mask,
    i32 %bits)
  br i1 %is_good, label %well, label %no
well:
  %word_place = call ptr @at(ptr %place, i64 8)
  %word_half = load i32, ptr %word_place
  %word = zext i32 %word_half to i64
  %target = getelementptr inbounds i64, ptr %record, i64 %word
  br i1 %is_bare, label %bare, label %not_bare
bare:
  call void @fill_bare(ptr %object, ptr %target)
  br label %filled
not_bare:
  br i1 %is_flat, label %flat, label %deep
flat:
  call void @fill_flat(ptr %object, ptr %target)
  br label %filled
deep:
  call void @fill(ptr %object, ptr %target, i64 %ndim_wide, i1 %has_strides)
  br label %filled
filled:
  %i_next = add nuw i64 %i, 1
  %is_last = icmp eq i64 %i_next, %count
  br i1 %is_last, label %yes, label %round
yes:
  ret i1 true
no:
  ret i1 false
}}

define internal i1 @has_texts(ptr %dict) alwaysinline {{
  %keys_place = call ptr @at(ptr %dict, i64 {dict_keys})
  %keys = load ptr, ptr %keys_place
  %kind_place = call ptr @at(ptr %keys, i64 {keys_kind})
  %kind = load i8, ptr %kind_place
  %has = icmp ne i8 %kind, 0
  ret i1 %has
}}

; What a key leads to in a dict of texts; null if it is not there, and for a dict of other keys.
define internal ptr @looked_up(ptr %api, ptr %dict, ptr %key, i64 %number) {{
entry:
  %keys_place = call ptr @at(ptr %dict, i64 {dict_keys})
  %keys = load ptr, ptr %keys_place
  %kind_place = call ptr @at(ptr %keys, i64 {keys_kind})
  %kind = load i8, ptr %kind_place
  %is_mixed = icmp eq i8 %kind, 0
  br i1 %is_mixed, label %no, label %texts
texts:
  %pairs = call ptr @pairs_of(ptr %keys)
  %count_place = call ptr @at(ptr %keys, i64 {keys_count})
  %count = load i64, ptr %count_place
  %beside = call ptr @at(ptr %pairs, i64 8)
  %row_place = call ptr @at(ptr %dict, i64 {dict_values})
  %row = load ptr, ptr %row_place
  %is_combined = icmp eq ptr %row, null
  br i1 %is_combined, label %take, label %split
split:
  %apart = call ptr @at(ptr %row, i64 {values_start})
  %is_known = icmp ne i64 {class_keys}, 0
  br i1 %is_known, label %take, label %ask
take:
  %values = phi ptr [ %beside, %texts ], [ %apart, %split ]
  %shift = phi i64 [ 4, %texts ], [ 3, %split ]
  %found = call ptr @attribute(ptr %api, ptr %pairs, ptr %values, i64 %shift, i64 %count,
    ptr %dict, ptr %key, i64 %number)
  ret ptr %found
ask:
  %asked = call ptr @asked(ptr %api, ptr %dict, ptr %key)
  ret ptr %asked
no:
  ret ptr null
}}
"""


def inline_text(at: ObjectLayout) -> str:
    """How the values that belong to an instance are found, in this layout."""
    return _INLINE[at.instance.inline]


_INLINE: Final = {
    "pointer": """
  %inline_place = call ptr @at(ptr %object, i64 {inline_pointer})
  %is_able = icmp ne i64 %inline_at, 0
  br i1 %is_able, label %inline_able, label %no
inline_able:
  %inline_found = load ptr, ptr %inline_place
  %inline_row = call ptr @at(ptr %inline_found, i64 {values_start})
  %is_without = icmp eq ptr %inline_found, null
  br i1 %is_without, label %no, label %inline_keys
""",
    "tagged": """
  %inline_found = load ptr, ptr %dict_place
  %inline_start = getelementptr i8, ptr %inline_found, i64 1
  %inline_row = getelementptr i8, ptr %inline_start, i64 {values_start}
  br i1 %is_odd, label %inline_able, label %no
inline_able:
  %is_able = icmp ne i64 %inline_at, 0
  br i1 %is_able, label %inline_keys, label %no
""",
    "embedded": """
  %is_able = icmp ne i64 %inline_at, 0
  br i1 %is_able, label %inline_able, label %no
inline_able:
  %inline_found = call ptr @at(ptr %object, i64 %inline_at)
  %inline_row = call ptr @at(ptr %inline_found, i64 {values_start})
  %valid_place = call ptr @at(ptr %inline_found, i64 {inline_valid})
  %valid = load i8, ptr %valid_place
  %is_valid = icmp ne i8 %valid, 0
  br i1 %is_valid, label %inline_keys, label %no
""",
    "": """
  %inline_row = call ptr @at(ptr %object, i64 0)
  br i1 true, label %no, label %inline_keys
""",
}
