import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Attempt } from '../../../src/core/attempt/attempt.ts'
import { ReadyLine, type ReadyRun } from '../../../src/core/slots/ready-line.ts'

const LANES = ['one', 'two', 'three'] as const

interface Model {
  readonly attempt: Attempt
  readonly at: number
  readonly order: number
  lane: string
}

/** The line as a list that is searched. */
class ModelOfLine {
  runs: Model[] = []
  readonly asking = new Set<string>()
  readonly refused = new Set<string>()

  get open(): readonly Model[] {
    const inLine = this.runs.filter(({ lane }) => !this.asking.has(lane) && !this.refused.has(lane))
    return inLine.sort((one, other) => one.at - other.at || one.order - other.order)
  }
}

function attemptOf(priorityMs: number): Attempt {
  const attempt: Pick<Attempt, 'is'> & { readonly record: { readonly priorityMs: number } } = {
    record: { priorityMs },
    is: () => true,
  }
  return attempt as unknown as Attempt
}

const lane = fc.constantFrom(...LANES)
const step = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({ kind: fc.constant('add'), lane, after: fc.nat(3), priority: fc.nat(9) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: fc.constant('take') }) },
  fc.record({ kind: fc.constant('put back') }),
  fc.record({ kind: fc.constant('move'), lane, which: fc.nat() }),
  fc.record({ kind: fc.constant('remove'), which: fc.nat() }),
  fc.record({ kind: fc.constant('ask'), lane }),
  fc.record({ kind: fc.constant('answered'), lane, isRefused: fc.boolean() }),
  fc.record({ kind: fc.constant('freed'), lane }),
  fc.record({ kind: fc.constant('retry') }),
)
type Step = typeof step extends fc.Arbitrary<infer T> ? T : never

/** Both sides of a random program, step by step. */
class Programs {
  readonly line = new ReadyLine()
  readonly model = new ModelOfLine()
  readonly #taken: { readonly run: ReadyRun; readonly model: Model }[] = []
  #now = 0
  #arrived = 0

  make(one: Step): void {
    const { line, model } = this
    switch (one.kind) {
      case 'add': {
        this.#now += 'after' in one ? one.after : 0
        const priority = 'priority' in one ? one.priority : 0
        const attempt = attemptOf(priority)
        model.runs.push({ attempt, at: this.#now - priority, order: this.#arrived++, lane: laneOf(one) })
        return line.add(attempt, laneOf(one), this.#now)
      }
      case 'take': {
        const [first] = model.open
        const run = line.take()
        expect(run?.attempt).toBe(first?.attempt)
        if (run === undefined || first === undefined) return
        model.runs = model.runs.filter((other) => other !== first)
        this.#taken.push({ run, model: first })
        return
      }
      case 'put back': {
        const last = this.#taken.pop()
        if (last === undefined) return
        model.runs.push(last.model)
        return line.putBack(last.run)
      }
      case 'ask':
        model.asking.add(laneOf(one))
        return line.ask(laneOf(one))
      case 'answered':
        model.asking.delete(laneOf(one))
        if ('isRefused' in one && one.isRefused) model.refused.add(laneOf(one))
        return line.answered(laneOf(one), 'isRefused' in one && one.isRefused ? laneOf(one) : undefined)
      case 'freed':
        model.refused.delete(laneOf(one))
        return line.freed([laneOf(one)])
      case 'retry':
        model.refused.clear()
        return line.retry()
      default:
        return this.#change(one)
    }
  }

  /** One that stands in line leaves it, or changes its lane and keeps its place. */
  #change(one: Step): void {
    const { line, model } = this
    const run = 'which' in one ? model.runs[one.which % model.runs.length] : undefined
    if (run === undefined) return
    if (one.kind === 'move') {
      run.lane = laneOf(one)
      line.add(run.attempt, run.lane, this.#now)
      return
    }
    model.runs = model.runs.filter((other) => other !== run)
    line.remove(run.attempt)
  }
}

function laneOf(one: Step): string {
  return 'lane' in one ? one.lane : ''
}

describe('the line of runs that can go on', () => {
  it('is by instant less priority, over all lanes that are open, whatever happens', () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80, size: 'max' }), (program) => {
        const both = new Programs()
        for (const one of program) {
          both.make(one)
          expect(both.line.isEmpty).toBe(both.model.runs.length === 0)
          expect(both.line.hasRefused).toBe(both.model.refused.size > 0)
          for (const [ahead, { attempt }] of both.model.open.entries())
            expect(both.line.ahead(attempt)).toBe(ahead)
        }
        for (const { attempt } of both.model.open) expect(both.line.take()?.attempt).toBe(attempt)
        expect(both.line.take()).toBeUndefined()
      }),
    )
  })
})
