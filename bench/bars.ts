/** One bar of a plot. */
export interface Bar {
  readonly name: string
  /** As a report spells it: `25.3 µs`. */
  readonly value: string
  readonly isOurs: boolean
}

const WIDTH = 640
const LEFT = 190
const RIGHT = 80
const TOP = 44
const HEIGHT_OF_A_BAR = 18
const GAP_OF_PAIRS = 8
const SCALE: Readonly<Record<string, number>> = { ns: 1, µs: 1e3, ms: 1e6, s: 1e9 }

/** Times as bars on a logarithmic axis, in pairs: ours, and what stands beside it. */
export function renderBars(title: string, bars: readonly Bar[]): string {
  const times = bars.map(({ value }) => nanosecondsOf(value))
  const from = 10 ** Math.floor(Math.log10(Math.min(...times)))
  const span = Math.log10(Math.max(...times) / from)
  const widthOf = (time: number): number =>
    Math.round((Math.log10(time / from) / span) * (WIDTH - LEFT - RIGHT))
  const yOf = (index: number): number => TOP + index * HEIGHT_OF_A_BAR + Math.floor(index / 2) * GAP_OF_PAIRS
  const lines = bars.flatMap(({ name, value, isOurs }, index) => {
    const y = yOf(index)
    const width = widthOf(times[index] ?? from)
    return [
      `<text x="${LEFT - 8}" y="${y + 13}" text-anchor="end">${name}</text>`,
      `<rect x="${LEFT}" y="${y + 2}" width="${width}" height="${HEIGHT_OF_A_BAR - 4}" fill="${isOurs ? '#0b6e4f' : '#8a8a8a'}"/>`,
      `<text x="${LEFT + width + 6}" y="${y + 13}">${value}</text>`,
    ]
  })
  const height = yOf(bars.length) + 12
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" font-family="sans-serif" font-size="12">`,
    `<rect width="${WIDTH}" height="${height}" fill="#fff"/>`,
    `<text x="12" y="20" font-size="15" font-weight="bold">${title}</text>`,
    `<text x="12" y="36" fill="#555">shorter is faster, on a logarithmic axis</text>`,
    ...lines,
    '</svg>',
    '',
  ].join('\n')
}

/** A time as a report spells it. */
export function nanosecondsOf(spelled: string): number {
  const [value = '', unit = ''] = spelled.split(' ')
  const scale = SCALE[unit]
  if (scale === undefined) throw new Error(`Cannot plot "${spelled}": it is no time`)
  return Number(value) * scale
}
