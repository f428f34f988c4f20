// AArch64.
#define CENOTE_LEVEL neon
#define CENOTE_ROWS neon
#define CENOTE_VECTOR_BYTES 16
