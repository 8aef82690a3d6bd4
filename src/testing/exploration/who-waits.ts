import { LIVE_STATUSES } from '../../contract/run-states.ts'
import type { World } from './world.ts'

/** The unfinished runs of a schedule, for messages. */
export async function whoWaits({ storage, names }: World): Promise<string> {
  const waiting: string[] = []
  const { records } = await storage.runs.list({ status: LIVE_STATUSES }, { limit: 10 })
  for (const { id, status } of records) {
    const tokens = await storage.runs.waits(id)
    const tokenNames = tokens.map((token) => names.of(token.id) ?? token.id).join(', ')
    const what = tokenNames === '' ? '' : ` for ${tokenNames}`
    waiting.push(`run "${names.of(id) ?? id}" is ${status}${what}`)
  }
  return waiting.join(', ') || 'no run is unfinished: the body waits for its own code'
}
