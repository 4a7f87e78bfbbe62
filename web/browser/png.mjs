// Small pictures: a screenshot of a page with few colours, as a PNG with a palette. Nothing but what Node has.

import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]);

/** The pixels of a PNG as Chromium writes it: 8 bits a channel, with or without alpha, not interlaced. */
export function decode(png) {
  let [place, width, height, channels] = [8, 0, 0, 0];
  const parts = [];
  while (place < png.length) {
    const length = png.readUInt32BE(place);
    const kind = png.toString("latin1", place + 4, place + 8);
    const data = png.subarray(place + 8, place + 8 + length);
    if (kind === "IHDR") {
      [width, height] = [data.readUInt32BE(0), data.readUInt32BE(4)];
      channels = { 2: 3, 6: 4 }[data[9]];
      if (data[8] !== 8 || !channels || data[12] !== 0) throw new Error("not a screenshot of Chromium");
    }
    if (kind === "IDAT") parts.push(data);
    place += 12 + length;
  }
  return { width, height, pixels: unfilter(inflateSync(Buffer.concat(parts)), width, height, channels) };
}

/** Undoes the filters of the lines; gives three bytes a pixel. */
function unfilter(raw, width, height, channels) {
  const stride = width * channels;
  const lines = Buffer.alloc(stride * height);
  for (let y = 0; y < height; y += 1) {
    const filter = raw[y * (stride + 1)];
    for (let x = 0; x < stride; x += 1) {
      const a = x >= channels ? lines[y * stride + x - channels] : 0;
      const b = y > 0 ? lines[(y - 1) * stride + x] : 0;
      const c = x >= channels && y > 0 ? lines[(y - 1) * stride + x - channels] : 0;
      const guess = [0, a, b, (a + b) >> 1, paeth(a, b, c)][filter];
      lines[y * stride + x] = (raw[y * (stride + 1) + 1 + x] + guess) & 255;
    }
  }
  if (channels === 3) return lines;
  const pixels = Buffer.alloc(width * height * 3);
  for (let n = 0; n < width * height; n += 1) lines.copy(pixels, n * 3, n * 4, n * 4 + 3);
  return pixels;
}

function paeth(a, b, c) {
  const [da, db, dc] = [Math.abs(b - c), Math.abs(a - c), Math.abs(a + b - 2 * c)];
  if (da <= db && da <= dc) return a;
  return db <= dc ? b : c;
}

/** The picture with at most 256 colours: the most frequent ones, and of those the nearest for the rest. */
export function encode({ width, height, pixels }) {
  const counts = new Map();
  const colour = (n) => (pixels[n * 3] << 16) | (pixels[n * 3 + 1] << 8) | pixels[n * 3 + 2];
  for (let n = 0; n < width * height; n += 1) counts.set(colour(n), (counts.get(colour(n)) ?? 0) + 1);
  const palette = chosen(counts);
  const places = new Map(palette.map((one, place) => [one, place]));
  const place = (one) => {
    if (!places.has(one)) places.set(one, nearest(one, palette));
    return places.get(one);
  };
  const raw = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) for (let x = 0; x < width; x += 1) raw[y * (width + 1) + 1 + x] = place(colour(y * width + x));
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((one) => [one >> 16, (one >> 8) & 255, one & 255]));
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("PLTE", colours), chunk("IDAT", deflateSync(raw, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

/** The picture with all its colours, for small ones. */
export function encodeColours({ width, height, pixels }) {
  const raw = Buffer.alloc((width * 3 + 1) * height);
  for (let y = 0; y < height; y += 1) pixels.copy(raw, y * (width * 3 + 1) + 1, y * width * 3, (y + 1) * width * 3);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  head.set([8, 2, 0, 0, 0], 8);
  return Buffer.concat([SIGNATURE, chunk("IHDR", head), chunk("IDAT", deflateSync(raw, { level: 9, memLevel: 9 })), chunk("IEND", Buffer.alloc(0))]);
}

/** Frequent colours, no two of which look the same: shades of letters would fill the palette otherwise. */
function chosen(counts) {
  const sorted = [...counts].sort((a, b) => b[1] - a[1]).map(([one]) => one);
  for (let apart = 0; ; apart += 3) {
    const palette = [];
    for (const one of sorted) {
      if (palette.every((other) => distance(one, other) > apart * apart)) palette.push(one);
      if (palette.length > 256) break;
    }
    if (palette.length <= 256) return palette;
  }
}

function nearest(one, palette) {
  let [best, least] = [0, Infinity];
  for (const [place, other] of palette.entries()) {
    const far = distance(one, other);
    if (far < least) [best, least] = [place, far];
  }
  return best;
}

function distance(a, b) {
  const [red, green, blue] = [(a >> 16) - (b >> 16), ((a >> 8) & 255) - ((b >> 8) & 255), (a & 255) - (b & 255)];
  return red * red + green * green + blue * blue;
}

function chunk(kind, data) {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(data.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(crc32(body), body.length + 4);
  return whole;
}
