const UNITS = [
  ['d', 86_400_000],
  ['h', 3_600_000],
  ['m', 60_000],
  ['s', 1_000],
] as const

/** A length of time, as short as it is useful: `4m`, `2d 3h`. */
export function lengthText(ms: number): string {
  const whole = Math.max(0, Math.round(ms))
  const at = UNITS.findIndex(([, size]) => whole >= size)
  const [unit, size] = UNITS[at] ?? ['ms', 1]
  const count = Math.floor(whole / size)
  const [next, nextSize] = UNITS[at + 1] ?? ['', 0]
  const rest = at < 0 || nextSize === 0 ? 0 : Math.floor((whole - count * size) / nextSize)
  return count >= 10 || rest === 0 || unit === 'm' ? `${count}${unit}` : `${count}${unit} ${rest}${next}`
}

/** An instant as seen from `now`: `4m ago`, `in 2h`. */
export function relativeText(at: number, now: number): string {
  const ms = now - at
  if (Math.abs(ms) < 1_000) return 'now'
  return ms > 0 ? `${lengthText(ms)} ago` : `in ${lengthText(-ms)}`
}

/** An instant in UTC, to the second. */
export function instantText(at: number): string {
  return new Date(at).toISOString().replace(/\.\d+Z$/, 'Z')
}

/** An instant for people: how far it is from now, and when that is. */
export function momentText(at: Date | number | undefined, now: number): string {
  if (at === undefined) return '–'
  const ms = Number(at)
  return `${relativeText(ms, now)} (${instantText(ms)})`
}
