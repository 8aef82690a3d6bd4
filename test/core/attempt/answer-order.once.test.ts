import { describe, expect, it } from 'vitest'
import { createDeferred } from '../../../src/primitives/deferred.ts'
import { AnswerOrder, type GivenAnswer } from '../../../src/core/attempt/answer-order.ts'
import { readTold } from '../../../src/contract/told-answers.ts'

const given = (id: string, isOfStorage = false): GivenAnswer => ({ id, at: 0, since: 0, isOfStorage })

describe('AnswerOrder', () => {
  it('hands over one answer in each turn, in the order they were given', () => {
    const answers = new AnswerOrder(new Map())
    const handed: string[] = []
    const given: readonly (readonly [number, string])[] = [
      [5, 'sleep_3'],
      [2, 'waitpoint_9'],
      [5, 'run:run_1'],
      [1, 'waitpoint_4'],
      [5, 'waitpoint_2'],
    ]
    for (const [at, id] of given) answers.hold({ at, id, since: 0, handOver: () => handed.push(id) })
    for (let count = 1; answers.endTurn(); count += 1) expect(handed).toHaveLength(count)
    expect(handed).toEqual(['waitpoint_4', 'waitpoint_9', 'run:run_1', 'waitpoint_2', 'sleep_3'])
    expect(answers.isReplaying).toBe(false)
  })

  it('hands over first what questions have told, in the order they told it', () => {
    const answers = new AnswerOrder(readTold(['ccc,aaa', 'aaa,ddd', '+fff']))
    const handed: string[] = []
    const given: readonly (readonly [number, string])[] = [
      [1, 'token_aaa'],
      [2, 'token_bbb'],
      [3, 'token_ccc'],
      [4, 'token_ddd'],
      [5, 'token_eee'],
      [6, 'token_fff'],
      [7, 'token_ggg'],
    ]
    for (const [at, id] of given) answers.hold({ at, id, since: 0, handOver: () => handed.push(id.slice(6)) })
    while (answers.endTurn());
    // Before the last of them others may have come, untold: in the order of their instants.
    expect(handed).toEqual(['ccc', 'aaa', 'ddd', 'bbb', 'eee', 'fff', 'ggg'])
  })

  it('tells which answers came before a question, once some came beside others', () => {
    const answers = new AnswerOrder()
    answers.note(given('token_aaaaaa'), true)
    expect(answers.tell()).toBeUndefined()
    answers.note(given('token_bbbbbb'), false)
    answers.note(given('token_cccccc'), true)
    expect([answers.tell(), answers.tell()]).toEqual(['aaaaaa,bbbbbb,cccccc', 'aaaaaa,bbbbbb,cccccc'])
    for (let count = 0; count < 17; count += 1) answers.note(given(`token_${count.toString(36)}ddddd`), false)
    const marks = Array.from({ length: 16 }, (_, at) => `${(at + 1).toString(36)}ddddd`)
    expect(answers.tell()).toBe(`+${marks.join(',')}`)
    answers.note(given('token_eeeeee'), true)
    expect(answers.tell()).toBe('eeeeee')
  })

  it('tells which answers storage has given together, and hands them over so', async () => {
    const answers = new AnswerOrder()
    answers.note(given('token_aaaaaa', true), false)
    answers.note(given('token_bbbbbb', true), false)
    await Promise.resolve()
    answers.note(given('token_cccccc', true), false)
    answers.note(given('token_aaaaaa'), false)
    answers.note(given('token_dddddd', true), false)
    const told = answers.tell()
    expect(told).toBe('aaaaaa!,&bbbbbb!,cccccc!,aaaaaa,dddddd!')

    const again = new AnswerOrder(readTold([told ?? '']))
    let turn: string[] = []
    for (const [id, isOfStorage] of [
      ['f', true],
      ['e', true],
      ['d', true],
      ['a', false],
      ['c', true],
      ['b', true],
      ['a', true],
    ] as const) {
      const mark = id + (isOfStorage ? '!' : '')
      const answer = given(`token_${id.repeat(6)}`, isOfStorage)
      again.hold({ ...answer, handOver: () => void turn.push(mark) })
    }
    const turns: string[][] = []
    for (; again.endTurn(); turn = []) turns.push(turn)
    // What was told first, one after the other; the rest as storage gives it.
    expect(turns).toEqual([['a!', 'b!'], ['c!'], ['a'], ['d!'], ['e!', 'f!']])
  })

  it('holds a number of answers that come at once, and hands more over together', () => {
    const answers = new AnswerOrder()
    let handed = 0
    for (let count = 0; count < 33; count += 1)
      answers.hold({ at: count, id: `token_${count}`, since: 0, handOver: () => (handed += 1) })
    expect(handed).toBe(32)
  })

  it('waits for calls to storage that are out', async () => {
    const answers = new AnswerOrder(new Map())
    const handed: string[] = []
    let isAsked = false
    const call = createDeferred<void>()
    answers.wait(call.promise, () => (isAsked = true))
    answers.hold({ at: 1, id: 'waitpoint_1', since: 0, handOver: () => handed.push('first') })
    expect([answers.endTurn(), answers.isReplaying, handed]).toEqual([false, true, []])
    call.resolve()
    await call.promise
    expect(isAsked).toBe(true)
    expect([answers.endTurn(), handed]).toEqual([true, ['first']])
  })

  it('tells what it holds when the attempt ends', () => {
    const answers = new AnswerOrder(new Map())
    let hasEnded = false
    const never = (): void => expect.unreachable()
    answers.hold({ at: 1, id: 'once_1', since: 0, handOver: never, ended: () => void (hasEnded = true) })
    answers.end()
    expect([hasEnded, answers.endTurn()]).toEqual([true, false])
  })
})
