/** Where an engine is made for every case, and each call of it goes to a disk or to a server. */
const SHARES: Readonly<Record<string, number>> = { sqlite: 1 / 4, postgres: 1 / 15 }
const FEWEST = 10

/** How many cases of a law about engines to try on the storage that they are driven on, from how many in memory. */
export function casesOf(inMemory: number): number {
  const share = SHARES[process.env['WAITPOINT_STORAGE'] ?? 'memory'] ?? 1
  return Math.min(inMemory, Math.max(FEWEST, Math.ceil(inMemory * share)))
}
