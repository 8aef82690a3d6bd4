import { WaitpointError } from '../api/errors.ts'
import { StorageUnavailableError } from '../contract/storage-unavailable.ts'
import { LONGEST_TAG } from '../core/inside.ts'
import { type Acted, enter } from './actions.ts'
import { manyDonePage, type ManyAction, type NotDone, requireManyAction } from './pages/many.ts'
import { MOST_AT_ONCE, runRecord } from './records.ts'
import { Refused } from './refused.ts'
import type { Visit } from './visit.ts'

/** Cancels, replays or tags the runs that a page has shown. What cannot be done to one of them is told, and done to the others. */
export async function actOnMany(visit: Visit): Promise<Acted> {
  const action = requireManyAction(visit.url.searchParams.get('do'))
  const form = await enter(visit, action)
  const ids = [...new Set((form.get('runs') ?? '').split(' '))].filter((id) => id !== '')
  if (ids.length > MOST_AT_ONCE) throw new Refused(400, 'These are too many runs at once.')
  const asked = { once: form.get('once') ?? '', tag: form.get('tag')?.trim() ?? '' }
  if (!/^\w{1,64}$/.test(asked.once)) throw new Refused(400, 'This is no form of a page of many runs.')
  if (action === 'tag' && (asked.tag === '' || asked.tag.length > LONGEST_TAG))
    throw new Refused(422, `A tag has 1 to ${LONGEST_TAG} characters.`)
  const notDone: NotDone[] = []
  for (const id of ids) {
    await visit.turns.next()
    const because = await whyNot(() => ACTS[action](visit, id, asked))
    if (because !== undefined) notDone.push({ id, because })
  }
  return { status: 200, page: manyDonePage(visit, { action, done: ids.length - notDone.length, notDone }) }
}

interface Asked {
  /** Of the form: sent again, it has this once more. */
  readonly once: string
  readonly tag: string
}

/** Each answers why it was not done. */
const ACTS: Readonly<
  Record<ManyAction, (visit: Visit, id: string, asked: Asked) => Promise<string | undefined>>
> = {
  async cancel({ engine, inside }, id) {
    await engine.runs.cancel(id)
    const { status } = await runRecord(inside, id)
    return status === 'CANCELED' ? undefined : `It had ended: ${status}`
  },
  async replay({ inside }, id, { once }) {
    await inside.runs.replay(id, { once })
    return undefined
  },
  async tag({ engine }, id, { tag }) {
    await engine.runs.addTags(id, tag)
    return undefined
  },
}

async function whyNot(act: () => Promise<string | undefined>): Promise<string | undefined> {
  try {
    return await act()
  } catch (error) {
    if (error instanceof WaitpointError || error instanceof StorageUnavailableError) return error.message
    throw error
  }
}
