// What every CPU of the architecture supports.
#define CENOTE_LEVEL baseline
#define CENOTE_ROWS baseline
#define CENOTE_VECTOR_BYTES 16
