import type { Curve, CurveLine, CurvePoint } from './measurement.ts'
import { spellValue } from './report.ts'

const WIDTH = 640
const HEIGHT = 400
/** Room for the title, the names of the lines, the sizes and the costs. */
const MARGIN = { top: 40, right: 190, bottom: 48, left: 72 } as const
const COLORS = ['#0b6e4f', '#8a8a8a', '#c8553d', '#3d5a98', '#8e5ea2', '#c49000']
const LABEL_GAP = 16

/** A logarithmic axis from one power of ten to another. */
class DecadeAxis {
  readonly decades: readonly number[]
  readonly #from: number
  readonly #span: number
  readonly #pixels: readonly [number, number]

  constructor(values: readonly number[], pixels: readonly [number, number]) {
    const from = Math.floor(Math.log10(Math.min(...values)) + 1e-9)
    const to = Math.max(from + 1, Math.ceil(Math.log10(Math.max(...values)) - 1e-9))
    this.#from = from
    this.#span = to - from
    this.#pixels = pixels
    this.decades = Array.from({ length: this.#span + 1 }, (_, index) => 10 ** (from + index))
  }

  at(value: number): number {
    const [start, end] = this.#pixels
    return start + ((Math.log10(value) - this.#from) / this.#span) * (end - start)
  }
}

/** Cost against size, both logarithmic: a linear cost rises by one square for each square. */
export function renderPlot({ what, unit, sizes, lines }: Curve): string {
  const points = lines.flatMap((line) => line.points)
  const x = new DecadeAxis(
    points.map(({ size }) => size),
    [MARGIN.left, WIDTH - MARGIN.right],
  )
  const y = new DecadeAxis(
    points.map(({ cost }) => cost),
    [HEIGHT - MARGIN.bottom, MARGIN.top],
  )
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${HEIGHT}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${HEIGHT}" fill="#fff"/>`,
    text({ x: MARGIN.left, y: 22 }, what, 'font-size="15" font-weight="bold"'),
    ...renderGrid(x, y, (value) => spellValue(value, unit)),
    text({ x: (MARGIN.left + WIDTH - MARGIN.right) / 2, y: HEIGHT - 10 }, sizes, 'text-anchor="middle"'),
    ...lines.map((line, index) => renderLine(line, (point) => place(point, x, y), colorOf(index))),
    ...renderNames(lines, (point) => place(point, x, y)),
    '</svg>',
    '',
  ].join('\n')
}

interface Place {
  readonly x: number
  readonly y: number
}

function place({ size, cost }: CurvePoint, x: DecadeAxis, y: DecadeAxis): Place {
  return { x: x.at(size), y: y.at(cost) }
}

function renderGrid(x: DecadeAxis, y: DecadeAxis, spellCost: (cost: number) => string): readonly string[] {
  const left = MARGIN.left
  const right = WIDTH - MARGIN.right
  const bottom = HEIGHT - MARGIN.bottom
  const grid = (path: string): string => `<path d="${path}" stroke="#ddd" fill="none"/>`
  return [
    ...x.decades.flatMap((size) => [
      grid(`M${round(x.at(size))} ${MARGIN.top}V${bottom}`),
      text({ x: x.at(size), y: bottom + 18 }, size.toLocaleString('en-US'), 'text-anchor="middle"'),
    ]),
    ...y.decades.flatMap((cost) => [
      grid(`M${left} ${round(y.at(cost))}H${right}`),
      text({ x: left - 8, y: y.at(cost) + 4 }, spellCost(cost), 'text-anchor="end"'),
    ]),
  ]
}

function renderLine({ points }: CurveLine, at: (point: CurvePoint) => Place, color: string): string {
  const places = points.map((point) => at(point))
  const path = places.map((to, index) => `${index === 0 ? 'M' : 'L'}${round(to.x)} ${round(to.y)}`).join('')
  const dots = places.map((to) => `<circle cx="${round(to.x)}" cy="${round(to.y)}" r="3.5" fill="${color}"/>`)
  return [`<path d="${path}" stroke="${color}" stroke-width="2" fill="none"/>`, ...dots].join('\n')
}

/** Each name beside the end of its line, or as close as the other names allow. */
function renderNames(lines: readonly CurveLine[], at: (point: CurvePoint) => Place): readonly string[] {
  const ends = lines
    .map(({ name, points }, index) => ({ name, color: colorOf(index), end: points.at(-1) }))
    .flatMap(({ end, ...label }) => (end === undefined ? [] : [{ ...label, y: at(end).y }]))
    .sort((one, other) => one.y - other.y)
  let free = 0
  return ends.map(({ name, color, y }) => {
    const down = Math.max(y, free)
    free = down + LABEL_GAP
    return text({ x: WIDTH - MARGIN.right + 12, y: down + 4 }, name, `fill="${color}"`)
  })
}

function colorOf(index: number): string {
  return COLORS[index % COLORS.length] ?? '#000'
}

function text({ x, y }: Place, words: string, attributes: string): string {
  const escaped = words.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return `<text x="${round(x)}" y="${round(y)}" ${attributes}>${escaped}</text>`
}

function round(pixels: number): string {
  return String(Number(pixels.toFixed(1)))
}
