import type { DeferredPromise } from 'p-defer'
import pDefer from 'p-defer'
import { createEngine, streams, task, wait } from 'waitpoint'
import type { Verdict } from '../bare/approvals.ts'
import { Mailbox } from '../bare/mailbox.ts'
import { RecordedApprovals } from '../bare/recorded-approvals.ts'
import type { Contest, Contestant } from '../contest.ts'
import { EngineApprovals } from '../engine-approvals.ts'
import type { Figure } from '../lab.ts'
import { inCrowds, oneAfterAnother } from '../approval-loops.ts'
import { parked } from '../turn.ts'

type Sides = Contest<'ours' | 'bare'>

const token: Sides = {
  name: 'token created, waited for and completed',
  count: 3_000,
  rounds: 20,
  warmUps: 10,
  sides: { ours: tokensOurs, bare: tokensBare },
}

const many: Sides = {
  name: 'run with a wait, 100,000 at once',
  count: 100_000,
  rounds: 3,
  warmUps: 1,
  sides: {
    ours: (count) => crowdOf(new EngineApprovals(), count),
    bare: (count) => crowdOf(new RecordedApprovals(), count),
  },
}

const QUESTION = {
  message: 'Publish it?',
  schema: { type: 'object', required: ['approved'], properties: { approved: { type: 'boolean' } } },
  data: { doc: 'd1' },
}

const updates: Sides = {
  name: 'run with a wait and a subscriber, as without one',
  count: 1_000,
  rounds: 10,
  warmUps: 5,
  sides: {
    ours: subscribedRuns,
    bare: (count) => {
      const approvals = new EngineApprovals()
      return { pass: () => oneAfterAnother(approvals, count), close: () => approvals.close() }
    },
  },
}

const asked: Sides = {
  name: 'run with a question, as with a plain token',
  count: 1_000,
  rounds: 20,
  warmUps: 5,
  sides: {
    ours: (count) => crowdOf(new EngineApprovals(undefined, undefined, undefined, QUESTION), count),
    bare: (count) => crowdOf(new EngineApprovals(), count),
  },
}

const messages: Sides = {
  name: 'message into a parked run, as the answer to its token',
  count: 500,
  rounds: 20,
  warmUps: 5,
  sides: { ours: messagesIntoRun, bare: answersIntoRun },
}

/** A wait without the run around it, a very large number of runs at once, and the cost of following every update. */
export const tokens: Figure = {
  name: 'tokens',
  contests: [token, many, updates, asked, messages],
  async measure(lab) {
    const line = async (contest: Sides): Promise<Awaited<ReturnType<Figure['measure']>>[number]> => ({
      what: contest.name,
      unit: 'ns',
      count: lab.count(contest.count),
      ...(await lab.hold(contest)),
    })
    return [
      await line(token),
      await line(many),
      await line(updates),
      { ...(await line(asked)), goal: { kind: 'ratio', most: 1.1 } },
      { ...(await line(messages)), goal: { kind: 'ratio', most: 1.3 } },
    ]
  },
}

function crowdOf(approvals: RecordedApprovals | EngineApprovals, count: number): Contestant {
  return {
    pass: () => inCrowds(approvals, { count, isParked: false, atOnce: count }),
    close: () => approvals.close(),
  }
}

/** All tokens in one run, so that the cost is that of the token. */
function tokensOurs(count: number): Contestant {
  const waits = task({
    id: 'waits',
    run: async (_: null) => {
      for (let left = count; left > 0; left--) {
        const { id } = await wait.createToken()
        const verdict = wait.forToken<Verdict>(id)
        await wait.completeToken(id, { approved: true })
        await verdict
      }
    },
  })
  const engine = createEngine({ tasks: [waits] })
  return {
    pass: async () => (await engine.trigger(waits, null)).result(),
    close: () => engine.close(),
  }
}

/** A record in a `Map`, replaced once, a `p-defer` in another, and the output through JSON text. */
function tokensBare(count: number): Contestant {
  const rows = new Map<string, { readonly status: string; readonly outputJson?: string }>()
  const waits = new Map<string, DeferredPromise<Verdict>>()
  let created = 0
  return {
    pass: async () => {
      for (let left = count; left > 0; left--) {
        const id = `token_${(created += 1)}`
        rows.set(id, { status: 'WAITING' })
        const verdict = pDefer<Verdict>()
        waits.set(id, verdict)
        const outputJson = JSON.stringify({ approved: true })
        rows.set(id, { status: 'COMPLETED', outputJson })
        waits.get(id)?.resolve(JSON.parse(outputJson) as Verdict)
        waits.delete(id)
        await verdict.promise
      }
    },
    after: () => rows.clear(),
  }
}

function subscribedRuns(count: number): Contestant {
  const approvals = new EngineApprovals()
  return {
    pass: async () => {
      for (let left = count; left > 0; left--) {
        const run = await approvals.trigger({ doc: 'chapter 1' })
        const told = approvals.follow(run)
        await approvals.complete(await approvals.asked(), { approved: true })
        await run.result()
        await told
      }
    },
    close: () => approvals.close(),
  }
}

/** One run that parks for each message. */
function messagesIntoRun(count: number): Contestant {
  const inbox = streams.input<Verdict>({ id: 'verdicts' })
  const reads = task({
    id: 'reads',
    run: async (_: null) => {
      for (let left = count; left > 0; left--) await inbox.wait().unwrap()
    },
  })
  const engine = createEngine({ tasks: [reads] })
  const outside = engine.streams.input<Verdict>({ id: inbox.id })
  return {
    pass: async () => {
      const run = await engine.trigger(reads, null)
      for (let left = count; left > 0; left--) {
        await parked(engine)
        await outside.send(run, { approved: true })
      }
      await run.result()
    },
    close: () => engine.close(),
  }
}

/** One run that parks for each of its tokens. */
function answersIntoRun(count: number): Contestant {
  const mailbox = new Mailbox()
  const asks = task({
    id: 'asks',
    run: async (_: null) => {
      for (let left = count; left > 0; left--) {
        const token = await wait.createToken()
        mailbox.say(token.id)
        await wait.forToken<Verdict>(token).unwrap()
      }
    },
  })
  const engine = createEngine({ tasks: [asks] })
  return {
    pass: async () => {
      const run = await engine.trigger(asks, null)
      for (let left = count; left > 0; left--) {
        const id = await mailbox.next()
        await parked(engine)
        await engine.wait.completeToken(id, { approved: true })
      }
      await run.result()
    },
    close: () => engine.close(),
  }
}
