import type { Engine } from 'waitpoint'
import type { TokenKind } from '../../src/contract/records.ts'
import { kernelOf } from '../../src/core/engine.ts'

const KINDS: readonly TokenKind[] = ['MANUAL', 'SLEEP', 'ONCE', 'BINDING', 'INPUT']

/** Everything a storage has that a request could change, as a text that is another when it is. */
export async function digestOf(engine: Engine): Promise<string> {
  const { storage } = kernelOf(engine).host
  const now = kernelOf(engine).host.now()
  const runs: unknown[] = []
  for (let after: string | undefined; ;) {
    const { records, next } = await storage.runs.list({}, { limit: 100, after })
    runs.push(...records)
    if (next === undefined) break
    after = next
  }
  const tokens = await Promise.all(
    KINDS.map(async (kind) => {
      const { records, next } = await storage.tokens.list({ kind }, { limit: 100 }, now)
      if (next !== undefined) throw new Error('There are more tokens than a digest takes')
      return records
    }),
  )
  return JSON.stringify([runs, tokens, await storage.schedules?.list(), await storage.queues?.list()])
}
