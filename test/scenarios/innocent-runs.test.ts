import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine, testClock } from 'waitpoint/testing'
import { abandonable, projectStorage } from '../support/abandon.ts'

/** More than any mix here needs: a run ends as `CRASHED` after more than 10 deaths, and at most four more. */
const MOST_DEATHS = 60

/** One process after the other on one storage: a poison run kills its process a second after it began, the others take three. */
async function live(kinds: readonly ('poison' | 'innocent')[]): Promise<{ ends: string[]; deaths: number }> {
  const storage = projectStorage()
  await using clock = testClock({ mode: 'manual' })
  let kill = (): void => undefined
  let gone = new AbortController()
  const work = task({
    id: 'work',
    run: async (kind: string) => {
      // The sleep of a process that has died ends with it.
      const { signal } = gone
      const slept = await clock.sleep(kind === 'poison' ? '1s' : '3s', { signal }).then(
        () => true,
        () => false,
      )
      if (kind === 'poison' && slept) kill()
      return kind
    },
  })
  const ids: string[] = []
  for (let deaths = 0; ; deaths += 1) {
    gone = new AbortController()
    const ports = abandonable(clock, storage)
    const { clock: own, storage: kept } = ports
    const t = await createTestEngine({ tasks: [work], clock: own, storage: kept, seed: deaths })
    const life = { isOver: false }
    kill = () => {
      life.isOver = true
      ports.abandon()
      gone.abort()
    }
    if (ids.length === 0) for (const kind of kinds) ids.push((await t.engine.trigger(work, kind)).id)
    const statuses: string[] = []
    for (let second = 0; second < 60 && !life.isOver; second += 1) await clock.advance('1s')
    for (const id of ids) statuses.push((await storage.runs.get(id))?.status ?? '')
    if (!life.isOver || deaths === MOST_DEATHS) {
      if (!life.isOver) await t.close()
      return { ends: statuses, deaths }
    }
  }
}

describe('a run that kills its process each time', () => {
  it('ends as CRASHED after eleven deaths, if it is alone', async () => {
    expect(await live(['poison'])).toEqual({ ends: ['CRASHED'], deaths: 11 })
  })

  // Today every run that executed in a process that died is counted, so that the innocent ones are given up with the poison.
  it.fails.each([
    [['poison', 'innocent'] as const],
    [['innocent', 'innocent', 'poison', 'innocent', 'innocent'] as const],
  ])('ends as CRASHED, and those beside it complete: %j', async (kinds) => {
    const { ends, deaths } = await live(kinds)
    expect(ends).toEqual(kinds.map((kind) => (kind === 'poison' ? 'CRASHED' : 'COMPLETED')))
    expect(deaths).toBeLessThanOrEqual(11 + 4)
  })
})
