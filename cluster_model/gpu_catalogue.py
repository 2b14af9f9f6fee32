"""GPU models by canonical short name, with the memory of their smallest and largest card in MiB. Data only.

Figures are what NVML or a cloud's API reports where such a reading is public, else the marketing size. Every model of
the instance table is here too (a test holds that), so that no file is read to know a name.
"""

from typing import NamedTuple


class CardMemory(NamedTuple):
    """Memory of one card of a model; both ends are equal where the model comes in one size."""

    smallest_mib: int
    largest_mib: int


_ONE_SIZE = {
    # Data centre, oldest first.
    "M60": 8192,
    "P4": 8192,
    "P40": 24576,
    "T4G": 16384,
    "A2": 16384,
    "A10": 24576,
    "A16": 16384,
    "A30": 24576,
    "A40": 49152,
    "L20": 49152,
    "H800": 81559,
    "MI300X": 196608,
    "Radeon-Pro-V520": 8192,
    # Consumer.
    "GTX-1080": 8192,
    "GTX-1080-Ti": 11264,
    "TITAN-V": 12288,
    "TITAN-RTX": 24576,
    "RTX-2070": 8192,
    "RTX-2070-SUPER": 8192,
    "RTX-2080": 8192,
    "RTX-2080-SUPER": 8192,
    "RTX-2080-Ti": 11264,
    "RTX-3060-Ti": 8192,
    "RTX-3070": 8192,
    "RTX-3070-Ti": 8192,
    "RTX-3080-Ti": 12288,
    "RTX-3090": 24576,
    "RTX-3090-Ti": 24576,
    "RTX-4060": 8192,
    "RTX-4070": 12288,
    "RTX-4070-SUPER": 12288,
    "RTX-4070-Ti": 12288,
    "RTX-4070-Ti-SUPER": 16384,
    "RTX-4080": 16384,
    "RTX-4080-SUPER": 16384,
    "RTX-4090": 24564,
    "RTX-5060": 8192,
    "RTX-5070": 12288,
    "RTX-5070-Ti": 16384,
    "RTX-5080": 16384,
    "RTX-5090": 32768,
    # Workstation.
    "RTX-4000": 8192,
    "RTX-5000": 16384,
    "RTX-6000": 24576,
    "RTX-8000": 49152,
    "RTX-A4000": 16384,
    "RTX-A4500": 20480,
    "RTX-A5000": 24576,
    "RTX-A5500": 24576,
    "RTX-A6000": 49140,
    "RTX-2000-Ada": 16384,
    "RTX-4000-Ada": 20475,
    "RTX-4500-Ada": 24576,
    "RTX-5000-Ada": 32768,
    "RTX-5880-Ada": 49152,
    "RTX-6000-Ada": 49140,
    "RTX-PRO-4000": 24576,
    "RTX-PRO-4500": 32768,
}

_SIZES = {
    "K80": (11441, 12288),
    "P100": (12288, 16384),
    "V100": (16384, 32768),
    "T4": (15360, 16384),
    "A10G": (22888, 23028),
    "A100": (40960, 81920),
    "A800": (40960, 81920),
    "L4": (22888, 23034),
    "L40": (46068, 49152),
    "L40S": (45776, 49152),
    "H20": (97871, 144384),
    "H100": (81559, 96256),
    "H200": (143771, 144384),
    "GH200": (97871, 147456),
    "B200": (183359, 196608),
    "B300": (275040, 294912),
    "GB200": (189471, 196608),
    "GB300": (284208, 294912),
    "RTX-2060": (6144, 12288),
    "RTX-3050": (6144, 8192),
    "RTX-3060": (8192, 12288),
    "RTX-3080": (10240, 12288),
    "RTX-4060-Ti": (8192, 16384),
    "RTX-5060-Ti": (8192, 16384),
    "RTX-A2000": (6144, 12288),
    "RTX-PRO-5000": (49152, 73728),
    "RTX-PRO-6000": (97887, 98304),
}

CARDS: dict[str, CardMemory] = {name: CardMemory(mib, mib) for name, mib in _ONE_SIZE.items()} | {
    name: CardMemory(*sizes) for name, sizes in _SIZES.items()
}

# Models that MIG can cut, so that their units may be slices.
CUT_BY_MIG = frozenset(
    {"A30", "A100", "A800", "H20", "H100", "H200", "H800", "GH200", "B200", "B300", "GB200", "GB300"}
    | {"RTX-PRO-4500", "RTX-PRO-5000", "RTX-PRO-6000"}
)
