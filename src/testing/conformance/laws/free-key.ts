import type { RunRecord } from '../../../contract/records.ts'
import type { KeyFree, KeyFreed } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, type Subject } from '../subject.ts'

const KEY = { scope: 's', value: 'v' }

interface Insert {
  readonly now?: number
  /** When the key expires; never if it is left out. */
  readonly until?: number
}

async function insert(s: Subject, id: string, { now = 0, until }: Insert = {}): Promise<unknown> {
  const key = until === undefined ? KEY : { ...KEY, expiresAt: s.at(until) }
  return s.insertRun(id, { key }, now)
}

async function free(
  s: Subject,
  now: number,
  { key = KEY, by = A, ...other }: Partial<KeyFree> = {},
): Promise<KeyFreed | 'stale' | undefined> {
  const { runs } = s.storage
  // These laws are checked of storages that have it.
  return runs.freeKey?.({ key, by, ...other, now: s.at(now) })
}

async function run(s: Subject, id: string): Promise<RunRecord | undefined> {
  return s.storage.runs.get(id)
}

const laws: readonly Law[] = [
  {
    id: 'runs.freeKey/answers-its-holder',
    law: 'The run that was stored last with the key is answered, and whether the key is freed by this call: not if it has expired, or was freed before.',
    async check(s) {
      same('without a run', await free(s, 0), undefined)
      await insert(s, 'first', { until: 100 })
      same('another key of the scope', await free(s, 1, { key: { scope: 's', value: 'w' } }), undefined)
      same('the value in another scope', await free(s, 1, { key: { scope: 't', value: 'v' } }), undefined)
      same('before it expires', await free(s, 99), { runId: 'first', isFreed: true })
      same('once more', await free(s, 99), { runId: 'first', isFreed: false })
      await insert(s, 'second', { now: 100, until: 200 })
      same('when it has expired', await free(s, 200), { runId: 'second', isFreed: false })
      await insert(s, 'third', { now: 200 })
      same('a key without an end', await free(s, 1_000), { runId: 'third', isFreed: true })
    },
  },
  {
    id: 'runs.freeKey/frees-for-every-clock',
    law: 'No insert answers a holder whose key was freed, whatever its `now`; the next run of the key holds it.',
    async check(s) {
      await insert(s, 'first', { until: 100 })
      await free(s, 50)
      like('by a clock that is behind', await insert(s, 'second', { now: 1, until: 100 }), {
        isCached: false,
        record: { id: 'second' },
      })
      like('the next one', await insert(s, 'x', { now: 50 }), { isCached: true, record: { id: 'second' } })
    },
  },
  {
    id: 'runs.freeKey/changes-nothing-else',
    law: 'A holder whose key is freed stays as it is, but for the `expiresAt` of its key, and goes on.',
    async check(s) {
      const started = await s.start('first', { key: { ...KEY, expiresAt: s.at(100) }, tags: ['a'] })
      await free(s, 50)
      same('the run', await run(s, 'first'), { ...started, key: { ...KEY, expiresAt: s.at(0) } })
      like('its end', await s.update(started, { status: 'COMPLETED' }, 60), { record: { id: 'first' } })
      await insert(s, 'second', { now: 60, until: 100 })
      await free(s, 40)
      like('a clock that was set back', await run(s, 'second'), { key: { ...KEY, expiresAt: s.at(40) } })
      await insert(s, 'third', { now: 100, until: 200 })
      const third = (await s.claim({ now: 110 })).runs.find(({ id }) => id === 'third')
      if (third !== undefined) await s.update(third, { metadataJson: '1' }, 120)
      const expired = await run(s, 'third')
      await free(s, 200)
      same('a run whose key has expired', await run(s, 'third'), expired)
      await insert(s, 'fourth', { now: 200, until: 300 })
      const fourth = (await s.claim({ now: 210 })).runs.find(({ id }) => id === 'fourth')
      if (fourth !== undefined) await s.update(fourth, { metadataJson: '1' }, 220)
      await free(s, 250)
      like('a run that was changed', await run(s, 'fourth'), { key: { ...KEY, expiresAt: s.at(200) } })
    },
  },
  {
    id: 'runs.freeKey/frees-for-all-runs',
    law: 'Once a key is freed, no older run holds it that had given it up to the holder (`instead`).',
    async check(s) {
      await insert(s, 'first', { until: 100 })
      const second = { ...(await run(s, 'first')), id: 'second', rootId: 'second' } as RunRecord
      await s.storage.runs.insert({ record: second, instead: 'first', now: s.at(1), by: 'engine-a' })
      same('the holder', await free(s, 2), { runId: 'second', isFreed: true })
      same('once more', await free(s, 3), { runId: 'second', isFreed: false })
      like('the next insert', await insert(s, 'third', { now: 3 }), { isCached: false })
    },
  },
  {
    id: 'runs.freeKey/stale-fence',
    law: 'An attempt that no longer holds its run frees no key, and learns nothing of its holder: stale.',
    async check(s) {
      const attempt = await s.start('writer')
      const fence = { runId: attempt.id, epoch: attempt.epoch }
      await insert(s, 'holder')
      same('an earlier epoch', await free(s, 1, { fence: { ...fence, epoch: fence.epoch - 1 } }), 'stale')
      same('another owner', await free(s, 1, { fence, by: B }), 'stale')
      same('a run that is not there', await free(s, 1, { fence: { ...fence, runId: 'none' } }), 'stale')
      like('the holder', await run(s, 'holder'), { key: KEY })
      same('the right fence', await free(s, 1, { fence }), { runId: 'holder', isFreed: true })
      await insert(s, 'next')
      await s.update(attempt, { status: 'COMPLETED' })
      for (const key of [KEY, { scope: 's', value: 'of none' }])
        same(`${key.value}, once the run is over`, await free(s, 2, { key, fence }), 'stale')
      like('the next holder', await run(s, 'next'), { key: KEY })
    },
  },
]

/** Laws of a storage with `freeKey`. */
export const freeKeyLaws: readonly Law[] = laws.map((law) => ({
  ...law,
  optional: '`freeKey` of its runs',
  async check(s, another) {
    if (s.storage.runs.freeKey !== undefined) await law.check(s, another)
  },
}))
