// The table of row kernels of a reducer (pool/drivers/separable.hpp).

template <class C>
constexpr RowKernels make_row_kernels() {
    using T = typename C::T;
    RowKernels k{};
    k.width = sizeof(T);
    k.lanes = Lane<T, kVectorBytes>::count;
    k.summed = C::summed;
    k.two_planes = C::two_planes;
    k.reduce = &reduce_rows<C>;
    k.reduce_one = &reduce_one_of<C>;
    k.reduce_two = &reduce_two_of<C>;
    k.fill_identity = &fill_identity<C>;
    k.fill_padding = &fill_padding<C>;
    k.copy = &copy_elements<C>;
    k.stride_2[0] = &reduce_stride_2<C, 2>;
    k.stride_2[1] = &reduce_stride_2<C, 3>;
    k.stride_2[2] = &reduce_stride_2<C, 4>;
    k.parts[2] = &reduce_parts<C, 4>;
    k.pixels[0] = &reduce_pixels<C, 2>;
    k.pixels[1] = &reduce_pixels<C, 3>;
    k.pixels[2] = &reduce_pixels<C, 0>;
    k.every_nth = &take_every<Unsigned<T>>;
    k.interleave = &interleave_rows<Unsigned<T>>;
    k.copy_lines = &copy_lines;
    if constexpr (C::summed) {
        k.digit[0][0] = &reduce_digit<C, 1, false>;
        k.digit[0][1] = &reduce_digit<C, 2, false>;
        k.digit[0][2] = &reduce_digit<C, 3, false>;
        k.digit[0][3] = &reduce_digit<C, 4, false>;
        k.digit[1][0] = &reduce_digit<C, 1, true>;
        k.digit[1][1] = &reduce_digit<C, 2, true>;
        k.digit[1][2] = &reduce_digit<C, 3, true>;
        k.digit[1][3] = &reduce_digit<C, 4, true>;
    } else {
        k.parts[0] = &reduce_parts<C, 2>;
        k.parts[1] = &reduce_parts<C, 3>;
        if constexpr (!C::two_planes) k.van_herk = &van_herk<C>;
    }
    return k;
}

template <class C>
constexpr RowKernels row_kernels = make_row_kernels<C>();
