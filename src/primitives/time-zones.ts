/** The time zones that this process knows, by name. UTC comes first, unless it is left out. */
export function timeZones({ excludeUtc = false }: { readonly excludeUtc?: boolean } = {}): string[] {
  const others = Intl.supportedValuesOf('timeZone').filter((zone) => zone !== 'UTC')
  return excludeUtc ? others : ['UTC', ...others]
}
