"""Growth curves as pictures: both axes are logarithmic, so work that grows with its input is a line of slope one."""

import math

COLOURS = ["#b45309", "#1d4ed8", "#0f766e", "#be123c"]
LEFT, RIGHT, TOP, BOTTOM = 70, 470, 30, 250


def scale(values, low, high):
    """A function from values to places, with a power of ten at both ends."""
    first = math.floor(math.log10(min(values)))
    last = max(math.ceil(math.log10(max(values))), first + 1)
    place = lambda value: low + (math.log10(value) - first) / (last - first) * (high - low)
    return place, [10.0 ** power for power in range(first, last + 1)]


def label(value):
    return f"{value:,.0f}" if value >= 1 else f"{value:g}"


def picture(title, x_name, y_name, curves):
    """`curves` is {name: [(x, y), …]}."""
    points = [point for curve in curves.values() for point in curve]
    x_of, x_ticks = scale([x for x, _ in points], LEFT, RIGHT)
    y_of, y_ticks = scale([y for _, y in points], BOTTOM, TOP)
    parts = ['<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 640 300" font-family="sans-serif" font-size="13">',
             '<rect width="640" height="300" fill="#ffffff"/>',
             f'<text x="{LEFT}" y="18" fill="#18181b" font-weight="bold">{title}</text>']
    for tick in y_ticks:
        y = y_of(tick)
        parts.append(f'<line x1="{LEFT}" y1="{y:.0f}" x2="{RIGHT}" y2="{y:.0f}" stroke="#d4d4d8"/><text x="{LEFT - 8}" y="{y + 4:.0f}" text-anchor="end" fill="#3f3f46">{label(tick)}</text>')
    for tick in x_ticks:
        parts.append(f'<text x="{x_of(tick):.0f}" y="{BOTTOM + 20}" text-anchor="middle" fill="#3f3f46">{label(tick)}</text>')
    parts.append(f'<text x="{(LEFT + RIGHT) // 2}" y="{BOTTOM + 40}" text-anchor="middle" fill="#3f3f46">{x_name}; upwards: {y_name}</text>')
    for (name, curve), colour in zip(curves.items(), COLOURS):
        line = " ".join(f"{x_of(x):.0f},{y_of(y):.0f}" for x, y in curve)
        parts.append(f'<polyline points="{line}" fill="none" stroke="{colour}" stroke-width="2.5"/>')
        x, y = curve[-1]
        parts.append(f'<text x="{x_of(x) + 8:.0f}" y="{y_of(y) + 4:.0f}" fill="{colour}">{name}</text>')
    return "\n".join([*parts, "</svg>"]) + "\n"


def slope(curve):
    """How the last tenfold grew: 10 is in proportion."""
    return curve[-1][1] / curve[-2][1]
