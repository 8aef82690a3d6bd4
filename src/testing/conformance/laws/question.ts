import type { AttemptFence, TokenChanged } from '../../../contract/storage.ts'
import type { Law } from '../law.ts'
import { like, same } from '../sameness.ts'
import { A, B, idsOf, type Subject } from '../subject.ts'

const Q = '{"message":"Ship it?"}'
const P = '{"message":"Ship it now?"}'

/** Questions that a token may have and a call may expect: each with each. */
const PAIRS = [undefined, Q, P].flatMap((asked, one) =>
  [undefined, Q, P].map((expected, other) => ({ id: `t${one}${other}`, asked, expected })),
)

const UNSETTLED = {
  status: 'WAITING',
  outputJson: undefined,
  answeredJson: undefined,
  completedAt: undefined,
}

/** Laws of tokens that are questions, and of changes of tokens. */
export const questionLaws: readonly Law[] = [
  {
    id: 'tokens.settle/answers-its-question',
    law: 'Before the deadline a token is settled by an answer to its own question alone; any other one changes nothing.',
    async check(s) {
      const run = await s.start('r')
      for (const { id, asked, expected } of PAIRS) {
        const what = `an answer to ${expected ?? 'nothing'}, of a token that asks ${asked ?? 'nothing'}`
        const isRight = asked === expected
        await s.insertToken(id, { timeoutAt: s.at(100), questionJson: asked })
        await s.wait(run, id)
        const end = { status: 'COMPLETED', outputJson: '1', answeredJson: '"ann"', completedAt: s.at(99) }
        const record = { id, questionJson: asked, timeoutAt: s.at(100), ...(isRight ? end : UNSETTLED) }
        const settled = await s.settle(id, 99, { question: expected, answeredJson: '"ann"' })
        const ready = isRight ? [{ tokenId: id, runId: 'r', owner: A }] : []
        like(what, settled, { record, won: isRight, settledNow: isRight, ready })
        like(`a read after ${what}`, await s.storage.tokens.get(id, s.at(99)), { record, settledNow: false })
      }
      const open = PAIRS.filter(({ asked, expected }) => asked !== expected).map(({ id }) => id)
      same('what the run still waits for', idsOf(await s.storage.runs.waits('r')), open)
      for (const { id, asked } of PAIRS.filter((pair) => open.includes(pair.id)))
        like('the right answer', await s.settle(id, 99, { question: asked }), { won: true })
    },
  },
  {
    id: 'tokens.settle/late-for-any-question',
    law: 'The deadline comes before the question: a late answer makes the token TIMED_OUT, and a settled token stays, whatever was asked.',
    async check(s) {
      for (const { id, asked, expected } of PAIRS) {
        await s.insertToken(id, { timeoutAt: s.at(100), questionJson: asked })
        const record = { status: 'TIMED_OUT', questionJson: asked, completedAt: s.at(100) }
        const late = await s.settle(id, 100, { question: expected, answeredJson: '"ann"' })
        like('a late answer', late, {
          record: { ...record, answeredJson: undefined },
          won: false,
          settledNow: true,
        })
        const again = await s.settle(id, 101, { question: expected })
        like('an answer to what is settled', again, { record, won: false, settledNow: false, ready: [] })
      }
    },
  },
  {
    id: 'tokens.settle/says-who-answered',
    law: 'The settle that wins stores who answered, in the same step, also if it makes the token time out; no other settle does.',
    async check(s) {
      const ends: readonly (readonly [string, boolean])[] = [
        ['t', false],
        ...(s.storage.timesOut === true ? [['w', true] as const] : []),
      ]
      for (const [id, isTimeOut] of ends) {
        await s.insertToken(id, { questionJson: Q })
        const end = isTimeOut ? { isTimeOut } : {}
        const won = await s.settle(id, 5, { question: Q, answeredJson: '"ann"', ...end })
        const record = {
          status: isTimeOut ? 'TIMED_OUT' : 'COMPLETED',
          questionJson: Q,
          answeredJson: '"ann"',
        }
        like('the winner', won, { record, won: true, settledNow: true })
        like('a loser', await s.settle(id, 6, { question: Q, answeredJson: '"bob"' }), { record, won: false })
        like('a read', await s.storage.tokens.get(id, s.at(7)), { record })
      }
      await s.insertToken('plain')
      await s.settle('plain', 5, { answeredJson: '"ann"' })
      like('of no question', await s.storage.tokens.get('plain', s.at(5)), {
        record: { answeredJson: '"ann"' },
      })
      await s.insertToken('nameless', { questionJson: Q })
      const nameless = await s.settle('nameless', 5, { question: Q })
      like('of no one', nameless, { record: { status: 'COMPLETED', answeredJson: undefined } })
    },
  },
  {
    id: 'tokens.change/of-its-question',
    law: 'A token that waits gets another question, or another deadline, from a call that expects its question; from no other one.',
    async check(s) {
      for (const { id, asked, expected } of PAIRS) {
        const isRight = asked === expected
        await s.insertToken(id, { timeoutAt: s.at(100), questionJson: asked, tags: ['x'] })
        const before = (await s.storage.tokens.get(id, s.at(0)))?.record
        const to = { questionJson: '"new"', timeoutAt: s.at(200) }
        for (const [what, change] of Object.entries({
          'a deadline': { timeoutAt: s.at(150) },
          'a question': { questionJson: '"other"' },
          both: to,
        })) {
          const question = isRight && what === 'both' ? '"other"' : expected
          const changed = await changeOf(s, id, { question, now: 99, ...change })
          like(what, changed, { changed: isRight, settledNow: false, record: isRight ? change : before })
          const answered = changed === 'stale' ? changed : changed?.record
          same('a read', (await s.storage.tokens.get(id, s.at(99)))?.record, answered)
        }
        const record = (await s.storage.tokens.get(id, s.at(99)))?.record
        same('in the end', record, isRight ? { ...before, ...to } : before)
        const question = isRight ? '"new"' : asked
        like('an answer to it', await s.settle(id, 99, { question }), { won: true })
      }
    },
  },
  {
    id: 'tokens.change/moves-the-deadline',
    law: 'A token whose deadline was moved is due at the new instant, not before and not at the old one.',
    async check(s) {
      const moves: readonly (readonly [string, number | undefined, number])[] = [
        ['sooner', 300, 100],
        ['later', 50, 100],
        ['first', undefined, 100],
      ]
      for (const [id, from, to] of moves) {
        await s.insertToken(id, from === undefined ? {} : { timeoutAt: s.at(from) })
        await changeOf(s, id, { now: 10, timeoutAt: s.at(to) })
      }
      const before = await s.tick(A, 99)
      same('due before the new instant', idsOf(before.settled), [])
      same('what is due next', before.nextDue?.at, s.at(100))
      like('a wait', await s.wait(await s.start('r'), 'later', 99), { outcome: 'registered' })
      like('a read before', await s.storage.tokens.get('later', s.at(99)), { record: { status: 'WAITING' } })
      const end = { status: 'TIMED_OUT', timeoutAt: s.at(100), completedAt: s.at(100) }
      like('a read', await s.storage.tokens.get('sooner', s.at(100)), { record: end, settledNow: true })
      like('an answer', await s.settle('first', 100), { record: end, won: false, settledNow: true })
      const { settled } = await s.tick(A, 100)
      const later = settled.find(({ id }) => id === 'later')
      like('settled by a tick at the new instant', later, end)
      await s.insertToken('past', { timeoutAt: s.at(300) }, 110)
      const past = await changeOf(s, 'past', { now: 120, timeoutAt: s.at(115) })
      like('a deadline that has passed', past, {
        changed: true,
        settledNow: false,
        record: { status: 'WAITING' },
      })
      like('the next read', await s.storage.tokens.get('past', s.at(120)), {
        record: { status: 'TIMED_OUT', completedAt: s.at(115) },
        settledNow: true,
      })
    },
  },
  {
    id: 'tokens.change/comes-too-late',
    law: 'A change at the deadline or later only settles the token, as a read does; one of a settled token changes nothing, one of an unknown token is undefined.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t', { timeoutAt: s.at(100), questionJson: Q })
      await s.wait(run, 't')
      const late = { question: Q, questionJson: P, timeoutAt: s.at(200) }
      const record = { status: 'TIMED_OUT', questionJson: Q, timeoutAt: s.at(100), completedAt: s.at(100) }
      like('a late change', await changeOf(s, 't', { ...late, now: 100 }), {
        record,
        changed: false,
        settledNow: true,
      })
      same('what the run still waits for', idsOf(await s.storage.runs.waits('r')), [])
      like('a second one', await changeOf(s, 't', { ...late, now: 100 }), {
        record,
        changed: false,
        settledNow: false,
      })
      await s.insertToken('done', { questionJson: Q })
      await s.settle('done', 1, { question: Q })
      like('of a settled token', await changeOf(s, 'done', { ...late, now: 2 }), {
        record: { status: 'COMPLETED', questionJson: Q },
        changed: false,
        settledNow: false,
      })
      for (const id of ['nothing', 'run:r']) same(id, await changeOf(s, id, { ...late, now: 2 }), undefined)
    },
  },
  {
    id: 'tokens.change/stale-fence',
    law: 'An attempt that no longer holds its run changes nothing, and leaves a deadline that has passed as it is: stale, whether the token exists or not.',
    async check(s) {
      const run = await s.start('r')
      await s.insertToken('t', { timeoutAt: s.at(100), questionJson: Q })
      await s.wait(run, 't')
      const fence = { runId: 'r', epoch: run.epoch }
      const change = { question: Q, questionJson: P, timeoutAt: s.at(200), fence, by: A, now: 10 }
      const earlier = { ...fence, epoch: run.epoch - 1 }
      same('an earlier epoch', await changeOf(s, 't', { ...change, fence: earlier }), 'stale')
      same('another owner', await changeOf(s, 't', { ...change, by: B }), 'stale')
      same('past the deadline', await changeOf(s, 't', { ...change, by: B, now: 150 }), 'stale')
      const record = { questionJson: P, timeoutAt: s.at(200) }
      like('the right fence', await changeOf(s, 't', change), { changed: true, record })
      await s.update(run, { status: 'CANCELED' })
      const late = { ...change, question: P, questionJson: Q }
      for (const id of ['t', 'nothing'])
        same(`${id}, once the run is over`, await changeOf(s, id, late), 'stale')
      like('the token', (await s.storage.tokens.get('t', s.at(10)))?.record, { status: 'WAITING', ...record })
    },
  },
  {
    id: 'tokens.change/moves-what-waits',
    law: 'A parked run without a living owner can be claimed from the moved deadline of its token on, and not from the old one.',
    async check(s) {
      await s.tick(B)
      for (const id of ['sooner', 'later']) {
        const run = await s.start(id)
        await s.insertToken(`${id} token`, { timeoutAt: s.at(id === 'sooner' ? 300 : 50) })
        await s.wait(run, `${id} token`)
        await s.storage.runs.park(s.fenceOf(run))
      }
      await s.leave(A, 5)
      for (const id of ['sooner', 'later'])
        await changeOf(s, `${id} token`, { now: 10, timeoutAt: s.at(id === 'sooner' ? 100 : 200) })
      const claimed = async (now: number): Promise<readonly string[]> =>
        idsOf((await s.claim({ by: B, now })).runs)
      same('claimed before', await claimed(99), [])
      same('claimed at the earlier deadline', await claimed(100), ['sooner'])
      same('claimed before the later one', await claimed(199), [])
      same('claimed at the later deadline', await claimed(200), ['later'])
    },
  },
]

interface Change {
  readonly question?: string | undefined
  readonly fence?: AttemptFence
  readonly questionJson?: string
  readonly timeoutAt?: number
  readonly by?: string
  readonly now: number
}

async function changeOf(
  s: Subject,
  id: string,
  { question, by = B, now, ...rest }: Change,
): Promise<TokenChanged | 'stale' | undefined> {
  return s.storage.tokens.change({ id, question, ...rest, by, now: s.at(now) })
}
