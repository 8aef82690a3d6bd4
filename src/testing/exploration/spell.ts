const UNITS = [
  { unit: 'd', ms: 86_400_000 },
  { unit: 'h', ms: 3_600_000 },
  { unit: 'm', ms: 60_000 },
  { unit: 's', ms: 1_000 },
  { unit: 'ms', ms: 1 },
]

/** A virtual duration without zero parts: `23h 59m`. */
export function spell(durationMs: number): string {
  let rest = durationMs
  const parts = UNITS.flatMap(({ unit, ms }) => {
    const count = Math.floor(rest / ms)
    rest -= count * ms
    return count === 0 ? [] : [`${count}${unit}`]
  })
  return parts.join(' ') || '0ms'
}
