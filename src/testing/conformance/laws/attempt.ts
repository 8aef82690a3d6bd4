import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'

/** Two texts of attempts: what is in them is the engine's. */
const FIRST = '[{"number":1,"error":{"message":"no \\u0000 \\ud83d"}}]'
const SECOND = `[{"number":2,"error":{"message":"${'é'.repeat(30_000)}"}}]`

/** Laws of the attempts that have thrown. */
export const attemptLaws: readonly Law[] = [
  {
    id: 'runs.update/changes-the-attempts',
    law: 'An update may replace the attempts of a run, and leaves them otherwise, also when the run ends.',
    async check(s) {
      const run = await s.start('r')
      const change = { status: 'DELAYED', wakeAt: s.at(5), attemptsJson: FIRST } as const
      like('a retry', (await s.update(run, change, 1))?.record, { attemptsJson: FIRST })
      await s.claim({ now: 5 })
      like('another update', (await s.update(run, { metadataJson: '{}' }, 6))?.record, {
        attemptsJson: FIRST,
      })
      const cleared = await s.update(run, { attemptsJson: undefined }, 7)
      same('none', cleared?.record.attemptsJson, undefined)
      like('the next', (await s.update(run, { attemptsJson: SECOND }, 8))?.record, { attemptsJson: SECOND })
      const ended = await s.update(run, { status: 'COMPLETED', outputJson: '1' }, 9)
      like('the end', ended?.record, { status: 'COMPLETED', attemptsJson: SECOND })
      like('the run', await s.storage.runs.get('r'), { attemptsJson: SECOND })
    },
  },
  {
    id: 'runs/answers-the-attempts',
    law: 'Inserts, lists, claims, parks and resumes answer the attempts of a run as they are stored.',
    async check(s) {
      await s.insertRun('r', { attemptsJson: FIRST })
      like('the run', await s.storage.runs.get('r'), { attemptsJson: FIRST })
      const { records } = await s.storage.runs.list({}, { limit: 5 })
      like('a list', records, [{ id: 'r', attemptsJson: FIRST }])
      const { runs } = await s.claim({ now: 1 })
      like('a claim', runs, [{ id: 'r', attempt: 1, attemptsJson: FIRST }])
      const [run] = runs
      if (run === undefined) return
      like('a park', await s.storage.runs.park(s.fenceOf(run, 2)), { attemptsJson: FIRST })
      const resumed = await s.storage.runs.resume(s.fenceOf(run, 3))
      like('a resume', resumed, { outcome: 'resumed', record: { attemptsJson: FIRST } })
    },
  },
]
