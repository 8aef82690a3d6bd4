import { checkTokenHistory } from '../token-history.ts'
import { CallRecorder } from '../call-recorder.ts'
import type { Law } from '../law.ts'
import { Mismatch, same } from '../sameness.ts'
import { A, B, idsOf, namesOf, type Subject } from '../subject.ts'

const ROUNDS = 8

/** Laws of overlapping calls: the answers must be consistent with some order of the calls. */
export const historyLaws: readonly Law[] = [
  {
    id: 'history/tokens-are-written-once',
    law: 'Overlapping completions, reads and waits of one token agree on one outcome, and on the call that settled it.',
    async check(s) {
      await s.tick(B)
      const run = await s.start('r')
      for (let round = 0; round < ROUNDS; round++) {
        const id = `t${round}`
        await s.insertToken(id, { timeoutAt: s.at(100) })
        const recorder = new CallRecorder()
        const settle = async (by: string, now: number): Promise<unknown> =>
          recorder.record(
            { kind: 'complete', outputJson: `"${by}"`, now: s.at(now), what: `settle by ${by} at ${now}` },
            () => s.settle(id, now, { by, outputJson: `"${by}"` }),
            (answer) => (answer === 'stale' ? undefined : answer),
          )
        const get = async (now: number): Promise<unknown> =>
          recorder.record(
            { kind: 'look', now: s.at(now), what: `get at ${now}` },
            () => s.storage.tokens.get(id, s.at(now)),
            (answer) => answer,
          )
        const wait = async (): Promise<unknown> =>
          recorder.record(
            { kind: 'look', now: s.at(99), what: 'await' },
            () => s.wait(run, id, 99),
            (answer) =>
              'token' in answer
                ? { record: answer.token, settledNow: answer.outcome === 'settled' && answer.settledNow }
                : undefined,
          )
        const late = round % 2 === 0 ? 99 : 100
        await Promise.all([get(99), settle(A, late), wait(), settle(B, 99), get(late), settle(B, 98)])
        await get(99)
        const problem = checkTokenHistory(recorder.operations, s.at(100))
        if (problem !== undefined)
          throw new Mismatch(`the history of "${id}"`, { expected: 'one order', seen: problem.message })
      }
    },
  },
  {
    id: 'history/keys-have-one-holder',
    law: 'Of overlapping inserts with one key exactly one is not cached, and all answer its record.',
    async check(s) {
      const key = { scope: 's', value: 'v' }
      for (const insert of [insertToken, insertRun]) {
        const inserts = Array.from({ length: ROUNDS }, (_, at) => insert(s, `x${at}`, key))
        const answers = await Promise.all(inserts)
        same('inserts that are not cached', answers.filter(({ isCached }) => !isCached).length, 1)
        same('records answered', new Set(answers.map(({ id }) => id)).size, 1)
      }
    },
  },
  {
    id: 'history/runs-have-one-claimer',
    law: 'Of overlapping claims each run goes to exactly one, and the limit of its queue holds.',
    async check(s) {
      await s.tick(B)
      for (let run = 0; run < ROUNDS; run++) await s.insertRun(`r${run}`, {}, run)
      for (let run = 0; run < ROUNDS; run++) await s.insertRun(`n${run}`, { queue: 'narrow' }, run)
      const queueLimits = new Map([['narrow', 3]])
      const claims = [A, B, A, B].map((by) => s.claim({ by, limit: 5, queueLimits, now: 50 }))
      const first = (await Promise.all(claims)).flatMap(({ runs }) => idsOf(runs))
      const rest = (await s.claim({ limit: 50, queueLimits, now: 50 })).runs
      const ids = [...first, ...idsOf(rest)]
      same('runs claimed twice', ids.length - new Set(ids).size, 0)
      same('runs of the narrow queue', ids.filter((id) => id.startsWith('n')).length, 3)
      same('runs of the other queue', ids.filter((id) => id.startsWith('r')).length, ROUNDS)
    },
  },
  {
    id: 'history/no-wake-up-is-lost',
    law: 'A wait that is registered while its token is settled becomes ready, or is answered as settled.',
    async check(s) {
      const run = await s.start('r')
      const registered: string[] = []
      for (let round = 0; round < ROUNDS; round++) {
        const id = `t${round}`
        await s.insertToken(id)
        const wait = (): Promise<{ readonly outcome: string }> => s.wait(run, id)
        const settle = (): Promise<unknown> => s.settle(id)
        const isWaitFirst = round % 2 === 0
        const [one, other] = isWaitFirst ? [wait(), settle()] : [settle(), wait()]
        await Promise.all([one, other])
        const { outcome } = (await (isWaitFirst ? one : other)) as { readonly outcome: string }
        if (outcome === 'registered') registered.push(`${id} r ${A}`)
      }
      same('waits handed over', namesOf((await s.tick()).ready), registered.sort())
      same('waits left open', idsOf(await s.storage.runs.waits('r')), [])
    },
  },
]

type Insert = (
  s: Subject,
  id: string,
  key: Key,
) => Promise<{ readonly isCached: boolean; readonly id: string }>

interface Key {
  readonly scope: string
  readonly value: string
}

const insertToken: Insert = async (s, id, key) => answered(await s.insertToken(id, { key }))

const insertRun: Insert = async (s, id, key) => answered(await s.insertRun(id, { key }))

function answered(
  answer: { readonly isCached: boolean; readonly record: { readonly id: string } } | 'stale',
): { readonly isCached: boolean; readonly id: string } {
  if (answer === 'stale')
    throw new Mismatch('an insert without a fence', { expected: 'a record', seen: answer })
  return { isCached: answer.isCached, id: answer.record.id }
}
