"""What to do instead of functions that are refused, for the table of docs/functions.md."""

CONSTANT = "of fixed sizes it is constant: make it in __init__ and keep it as a buffer"
RARE = "no kernel; a table of values and torch.lerp, or an operator of your own"

_GROUPS = {
    "no kernel of linear algebra; compute it before the export, or write an operator of your own": ("matrix_exp",),
    CONSTANT: ("kaiser_window", "blackman_window", "bartlett_window", "fftfreq", "rfftfreq"),
    RARE: ("airy_ai", "bessel_j0", "bessel_j1", "bessel_y0", "gammainc", "gammaincc"),
    "deprecated in PyTorch; torch.arange makes such numbers, without the end": ("range",),
    "no kernel; write an operator of your own": ("gcd", "lcm"),
    "no kernel; torch.floor(torch.log2(x.abs())) + 1 is the exponent, and x * torch.exp2(-exponent) the mantissa":
        ("frexp",),
    "complex numbers are no inputs or outputs; keep real and imaginary parts as two tensors": ("view_as_real",),
    "no kernel; torch.bucketize and torch.scatter_add count": ("histogram",),
    "no kernel; x.view(-1).index_put(...) or torch.scatter does the same": ("put",),
    "no kernel; torch.scatter_reduce with an expanded index does the same": ("index_reduce",),
    "strides of a tensor that is not contiguous; write it with slices, or torch.where with a mask": (
        "as_strided", "as_strided_scatter", "fill_diagonal_"),
}

INSTEAD = {name: text for text, names in _GROUPS.items() for name in names}
