// What every CPU of the architecture runs.
#define CENOTE_LEVEL baseline
#define CENOTE_ROWS baseline
#define CENOTE_VECTOR_BYTES 16
