// The part of XLA's foreign function interface that a handler on the CPU needs, version 0.1.
//
// It is a C interface of plain structs. XLA only ever appends fields to them, and each begins with its size, so what is
// declared here is a prefix of what any later XLA passes. With these declarations cenote is built without JAX, and one
// build serves every jaxlib. All of them accept version 0.1, from 0.4.38 on; those up to 0.8.1 refuse 0.3.
#pragma once

#include <cstddef>
#include <cstdint>

namespace cenote::xla {

constexpr int kMajor = 0, kMinor = 1;

// A linked list of what was added to a struct.
enum class ExtensionType : int32_t { metadata = 1 };
struct Extension {
    size_t size;
    ExtensionType type;
    Extension* next;
};

// What most structs begin with.
struct Header {
    size_t size;  // of the struct, as its writer knows it
    Extension* extensions;
};

struct Version {
    Header header;
    int32_t major, minor;
};

// What a handler says about itself when it is registered.
struct Metadata {
    size_t size;
    Version version;
    uint32_t traits;
};
struct MetadataExtension {
    Extension base;
    Metadata* metadata;
};

struct Error;  // XLA's own
enum class ErrorCode : int32_t { cancelled = 1, invalid_argument = 3, resource_exhausted = 8, internal = 13 };
struct NewError {
    Header header;
    const char* message;
    ErrorCode code;
};

// The functions of XLA. Those after new_error are not used.
struct Api {
    Header header;
    Version version;
    const void* internal;
    Error* (*new_error)(NewError*);
};

enum class Type : int32_t {
    boolean = 1,
    i8 = 2,
    i16 = 3,
    i32 = 4,
    i64 = 5,
    u8 = 6,
    u16 = 7,
    u32 = 8,
    u64 = 9,
    f16 = 10,
    f32 = 11,
    f64 = 12,
    c64 = 15,
    bf16 = 16,
    c128 = 18,
};

inline int64_t itemsize_of(Type type) {
    switch (type) {
        case Type::boolean:
        case Type::i8:
        case Type::u8: return 1;
        case Type::i16:
        case Type::u16:
        case Type::f16:
        case Type::bf16: return 2;
        case Type::i32:
        case Type::u32:
        case Type::f32: return 4;
        case Type::i64:
        case Type::u64:
        case Type::f64:
        case Type::c64: return 8;
        case Type::c128: return 16;
    }
    return 0;
}

struct Array {
    Header header;
    Type type;
    void* data;  // in C order
    int64_t ndim;
    int64_t* shape;
};

// The operands, and the results.
enum class ItemKind : int32_t { array = 1 };
struct Arrays {
    Header header;
    int64_t count;
    ItemKind* kinds;
    Array** items;
};

struct Text {
    const char* data;
    size_t length;
};
enum class AttributeKind : int32_t { list = 1, dictionary = 2, scalar = 3, text = 4 };
struct Attributes {
    Header header;
    int64_t count;
    AttributeKind* kinds;
    Text** names;
    void** items;
};

enum class Stage : int32_t { instantiate, prepare, initialize, execute };
struct Call {
    Header header;
    const Api* api;
    void* context;
    Stage stage;
    Arrays operands, results;
    Attributes attributes;
};

using Handler = Error*(Call*);

// Sizes are counted to the end of the last field, without what the compiler adds after it.
constexpr size_t kSizeOfMetadata = offsetof(Metadata, traits) + sizeof(uint32_t);
constexpr size_t kSizeOfNewError = offsetof(NewError, code) + sizeof(ErrorCode);

static_assert(sizeof(Extension) == 24 && sizeof(Version) == 24 && sizeof(MetadataExtension) == 32);
static_assert(offsetof(Metadata, version) == 8 && kSizeOfMetadata == 36 && kSizeOfNewError == 28);
static_assert(offsetof(Api, new_error) == 48 && sizeof(Array) == 48 && offsetof(Array, data) == 24);
static_assert(sizeof(Arrays) == 40 && sizeof(Attributes) == 48);
static_assert(offsetof(Call, operands) == 40 && offsetof(Call, attributes) == 120 && sizeof(Call) == 168);

}  // namespace cenote::xla
