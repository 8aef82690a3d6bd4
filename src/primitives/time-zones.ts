/** The time zones that this process knows, by name. UTC comes first, unless it is left out. */
export function timeZones({ excludeUtc = false }: { readonly excludeUtc?: boolean } = {}): string[] {
  const others = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')
  return excludeUtc ? others : ['UTC', ...others]
}

/** A format takes 25 kB. Many schedules share a time zone. */
const formats = new Map<string, Intl.DateTimeFormat>()

/** How far the clocks of a time zone are ahead of UTC at an instant, in milliseconds. */
export function offsetAt(timeZone: string, at: number): number {
  let format = formats.get(timeZone)
  if (format === undefined) {
    format = new Intl.DateTimeFormat('en-US', { timeZone, timeZoneName: 'longOffset' })
    formats.set(timeZone, format)
  }
  // As in "3/29/2026, GMT+01:00"; "GMT" alone is that of UTC.
  const [, sign, ...parts] = /([+-])(\d+):(\d+):?(\d*)$/.exec(format.format(at)) ?? []
  const [hours = 0, minutes = 0, seconds = 0] = parts.map(Number)
  return (sign === '-' ? -1_000 : 1_000) * ((hours * 60 + minutes) * 60 + seconds)
}
