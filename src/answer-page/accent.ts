/** What a brand's color becomes: one that can be read on a light and on a dark page, and the ink on a button of it. */
export interface Accent {
  readonly light: string
  readonly dark: string
  readonly lightInk: string
  readonly darkInk: string
}

type Color = readonly [red: number, green: number, blue: number]

const WHITE: Color = [255, 255, 255]
const BLACK: Color = [0, 0, 0]
/** The grounds on which a color has to be read: the darkest of the light page, and the lightest of the dark one. */
const LIGHT_GROUND: Color = [238, 238, 234]
const DARK_GROUND: Color = [38, 38, 43]
/** What the guidelines for accessible pages ask of text. */
const READABLE = 4.5

/**
 * The colors of a brand. One that is too faint for text becomes darker on the light page, and lighter on the dark one.
 *
 * @throws TypeError for what is no color in hexadecimal digits.
 */
export function accentOf(text: string): Accent {
  const color = colorOf(text)
  const light = towards(color, BLACK, LIGHT_GROUND)
  const dark = towards(color, WHITE, DARK_GROUND)
  return { light: hex(light), dark: hex(dark), lightInk: inkOn(light), darkInk: inkOn(dark) }
}

function colorOf(text: string): Color {
  const digits = /^#([\da-f]{3}|[\da-f]{6})$/i.exec(text)?.[1]
  if (digits === undefined)
    throw new TypeError(
      `Cannot use "${text.slice(0, 40)}" as the accent of a brand: write a color such as #3548c8`,
    )
  const width = digits.length / 3
  const part = (at: number): number =>
    parseInt(digits.slice(at * width, (at + 1) * width).repeat(3 - width), 16)
  return [part(0), part(1), part(2)]
}

function towards(color: Color, end: Color, ground: Color): Color {
  for (let share = 0; share < 1; share += 0.05) {
    const mixed = color.map((part, at) =>
      Math.round(part + ((end[at] ?? 0) - part) * share),
    ) as unknown as Color
    if (contrast(mixed, ground) >= READABLE) return mixed
  }
  return end
}

function inkOn(color: Color): string {
  return contrast(color, WHITE) >= READABLE ? '#ffffff' : '#000000'
}

function contrast(one: Color, other: Color): number {
  const [darker = 0, lighter = 0] = [luminance(one), luminance(other)].sort((a, b) => a - b)
  return (lighter + 0.05) / (darker + 0.05)
}

function luminance(color: Color): number {
  const [red = 0, green = 0, blue = 0] = color.map((part) => {
    const share = part / 255
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
  })
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue
}

function hex(color: Color): string {
  return `#${color.map((part) => part.toString(16).padStart(2, '0')).join('')}`
}
