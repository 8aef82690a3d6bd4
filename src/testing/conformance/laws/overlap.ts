import type { WaitRecord } from '../../../contract/records.ts'
import type { RunClaimed } from '../../../contract/storage.ts'
import { memoryStorage } from '../../../storage/memory/memory.ts'
import type { Law } from '../law.ts'
import { isSame, Mismatch } from '../sameness.ts'
import { A, B, namesOf, Subject } from '../subject.ts'
import { claimAll, Claimed, prune, Pruned, release, type Release, storedOf } from './calls.ts'
import { type Meeting, type MeetingAct, type MeetingCall, MEETINGS } from './meetings.ts'

/** A storage that scans its records takes its time where there are many. */
const PAIRS_OF_A_STORAGE = 16

/** The abilities as an author of a storage knows them. */
const OPTIONAL = { debounces: '`debounces`', freeKey: '`freeKey` of its runs' } as const

/** Laws of two calls at the same time: what they answer, and what is stored then, is that of one order of the two. */
export const overlapLaws: readonly Law[] = MEETINGS.map((meeting) => ({
  id: meeting.id,
  law: `Two calls at the same time, of ${meeting.of}, answer and store what they would one after the other, in some order.`,
  ...(meeting.needs && { optional: OPTIONAL[meeting.needs] }),
  async check(s, another) {
    if (!isAble(s, meeting)) return
    const pairs = pairsOf(meeting, s.origin > 0)
    const atOnce = meeting.isAlone === true ? 1 : PAIRS_OF_A_STORAGE
    for (let from = 0; from < pairs.length; from += atOnce) {
      const subject = await another()
      await subject.use(async () => {
        await subject.tick(B)
        for (const [index, pair] of pairs.slice(from, from + atOnce).entries())
          await checkPair(subject, { meeting, pair, at: `${from + index}-` })
      })
    }
  },
}))

/** Each two calls. One of them begins in 1970 and the other one in 2099. */
function pairsOf({ acts, others = {} }: Meeting, isTurned: boolean): readonly (readonly [string, string])[] {
  const [names, more] = [Object.keys(acts), Object.keys(others)]
  const pairs = names.flatMap((one, at) =>
    [...names.slice(at), ...more].map((other) => [one, other] as const),
  )
  return isTurned ? pairs.map(([one, other]) => [other, one]) : pairs
}

function isAble({ storage }: Subject, { needs }: Meeting): boolean {
  if (needs === 'freeKey') return storage.runs.freeKey !== undefined
  return needs === undefined || storage[needs] === true
}

interface Pair {
  readonly meeting: Meeting
  readonly pair: readonly [first: string, second: string]
  readonly at: string
}

async function checkPair(s: Subject, { meeting, pair, at }: Pair): Promise<void> {
  const [one, other] = [waysOf(meeting, pair[0]), waysOf(meeting, pair[1])]
  const perform = async (steps: readonly MeetingCall[]): Promise<unknown[]> => {
    const answers: unknown[] = []
    for (const step of steps) answers.push(plain(await outcome(() => step(s, at))))
    return answers
  }
  await meeting.prepare(s, at)
  const answers = await Promise.all([perform(one[0]), perform(other[0])])
  const seen = await seenOf(s, { meeting, at, answers })
  const expected: unknown[] = []
  for (const ways of pairsBetween([...one.keys()], [...other.keys()]))
    for (const order of ordersOf(one[0].length, other[0].length)) {
      const inOrder = await expectedOf(s.origin, { meeting, pair, at, ways, order })
      if (isSame(seen, inOrder, true)) return
      expected.push(inOrder)
    }
  throw new Mismatch(`"${pair[0]}" and "${pair[1]}" at the same time`, { expected, seen })
}

type Order = readonly (0 | 1)[]

/** What memory storage answers and stores if the calls are made in these ways and in this order. */
async function expectedOf(
  origin: number,
  {
    meeting,
    pair,
    at,
    ways,
    order,
  }: Pair & { readonly ways: readonly [number, number]; readonly order: Order },
): Promise<unknown> {
  const name = JSON.stringify([meeting.id, origin, at, ways, order])
  let expected = KNOWN.get(name)
  if (expected === undefined) {
    const s = await Subject.open(memoryStorage, origin)
    await s.tick(B)
    await meeting.prepare(s, at)
    const answers: [unknown[], unknown[]] = [[], []]
    for (const side of order) {
      const step = waysOf(meeting, pair[side])[ways[side]]?.[answers[side].length]
      if (step !== undefined) answers[side].push(plain(await outcome(() => step(s, at))))
    }
    expected = await seenOf(s, { meeting, at, answers })
    KNOWN.set(name, expected)
  }
  return expected
}

/** What is expected, for each pair and order: the same of every storage. */
const KNOWN = new Map<string, unknown>()

async function seenOf(
  s: Subject,
  { meeting, at, answers }: { readonly meeting: Meeting; readonly at: string; readonly answers: unknown[][] },
): Promise<unknown> {
  const { slotsAfter, isPrunedAfter = false } = meeting
  if (isPrunedAfter) return seenAfterPrune(s, at, answers)
  if (slotsAfter === undefined) return { answers, stored: await storedOf(s, at) }
  const last = await claimAll(s, at, { by: A, now: s.at(100), queueLimits: new Map([[at, slotsAfter]]) })
  const rest = answers.map((each) => each.filter((answer) => !(answer instanceof Claimed)))
  const claims = [...answers.flat(), last].filter((answer) => answer instanceof Claimed)
  const claimed = claims.flatMap(({ runs }) => runs).sort((one, other) => (one.id < other.id ? -1 : 1))
  const ended = claims.flatMap((claim) => claim.ended).sort((one, other) => (one.id < other.id ? -1 : 1))
  return { answers: rest, claimed, ended, stored: await storedOf(s, at) }
}

async function seenAfterPrune(s: Subject, at: string, answers: unknown[][]): Promise<unknown> {
  const last = await prune(s)
  const rest = answers.map((each) => each.filter((answer) => !(answer instanceof Pruned)))
  const prunes = [...answers.flat(), last].filter((answer) => answer instanceof Pruned)
  const pruned = prunes.reduce((sum, { count }) => sum + count, 0)
  return { answers: rest, pruned, stored: await storedOf(s, at) }
}

type Steps = readonly MeetingCall[]

/** What an act may come to: first all that it asks for. Of waits that are dropped each may stay, as another call may be at it. */
function waysOf({ acts, others }: Meeting, name: string): readonly [Steps, ...Steps[]] {
  const act: MeetingAct = acts[name] ?? others?.[name] ?? []
  if (typeof act === 'function') return [[act]]
  if (!('waits' in act)) return [act]
  const releaseOf = (waits: Release['waits']): Steps => [(s, at) => release(s, at, { ...act, waits })]
  return [releaseOf(act.waits), ...smallerOf(act.waits).map(releaseOf)]
}

/** Every choice of some of these, but not of all. */
function smallerOf<T>(items: readonly T[]): readonly (readonly T[])[] {
  const all = 2 ** items.length - 1
  return Array.from({ length: all }, (_, choice) => items.filter((_item, at) => (choice & (1 << at)) !== 0))
}

function pairsBetween(
  ones: readonly number[],
  others: readonly number[],
): readonly (readonly [number, number])[] {
  return ones.flatMap((one) => others.map((other) => [one, other] as const))
}

/** Every order of so many steps of one side, 0, and so many of the other, 1. */
function ordersOf(one: number, other: number): readonly Order[] {
  if (one === 0) return [Array.from({ length: other }, () => 1 as const)]
  if (other === 0) return [Array.from({ length: one }, () => 0 as const)]
  return [
    ...ordersOf(one - 1, other).map((rest) => [0 as const, ...rest]),
    ...ordersOf(one, other - 1).map((rest) => [1 as const, ...rest]),
  ]
}

/** An error is an answer like any other, whatever its text, which is only told. */
class Failed {
  readonly #error: unknown

  constructor(error: unknown) {
    this.#error = error
  }

  toJSON(): string {
    return `an error: ${String(this.#error)}`
  }
}

async function outcome(act: () => Promise<unknown> | undefined): Promise<unknown> {
  try {
    return await act()
  } catch (error) {
    return new Failed(error)
  }
}

/** Answers that have nothing in an order of their own. */
const KEPT = [Claimed, Failed, Pruned]

/** An answer without what has no order. */
function plain(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null || KEPT.some((one) => answer instanceof one))
    return answer
  // The calls of this file answer such objects.
  const { ready, ended } = answer as { readonly ready?: readonly WaitRecord[] } & Partial<RunClaimed>
  return {
    ...answer,
    ...(ready !== undefined && { ready: namesOf(ready) }),
    ...(ended !== undefined && { ended: ended.map(({ record }) => record) }),
  }
}
