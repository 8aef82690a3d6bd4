import { describe, expect, it } from 'vitest'
import { viewRetrievedRun } from '../../../src/core/views/run.ts'
import { runFacts } from '../../../src/cli/output/run-facts.ts'
import { queuedRun } from '../../storage/storage-fixture.ts'

const NOW = Date.UTC(2030, 0, 2)

/** What is said of a run whose attempts have thrown this. */
function factsOf(errors: readonly { readonly name: string; readonly message: string }[]): string {
  const attempts = errors.map((error, at) => ({
    number: at + 1,
    startedAt: NOW - 60_000,
    endedAt: NOW - 58_000,
    error,
  }))
  const record = queuedRun('run_1', { createdAt: NOW, attemptsJson: JSON.stringify(attempts) })
  return runFacts(viewRetrievedRun(record), NOW)
}

describe('runFacts', () => {
  it('says which engine holds the run', () => {
    const run = viewRetrievedRun(queuedRun('run_1', { createdAt: NOW, status: 'EXECUTING', attempt: 1 }), {
      waits: [],
      owner: { id: 'engine_1', isHere: false, host: 'web', pid: 7, heardAt: new Date(NOW - 3_000) },
    })
    const [line] = runFacts(run, NOW).match(/^engine.*$/m) ?? []
    expect(line).toMatch(/^engine +engine_1, process 7 on web, last heard 3s ago /)
    expect(factsOf([])).not.toMatch(/^engine/m)
  })

  it('has a line for each attempt that has thrown', () => {
    const facts = factsOf([
      { name: 'Error', message: 'no ink' },
      { name: 'RangeError', message: 'no paper' },
    ])
    const when = '1m ago (2030-01-01T23:59:00Z), took 2s'
    expect(facts).toContain(
      `thrown    attempt 1, ${when}: Error: no ink\n          attempt 2, ${when}: RangeError: no paper\n`,
    )
    expect(factsOf([])).not.toContain('thrown')
  })

  it('keeps an error on its line, in characters that a terminal shows', () => {
    const message = `one\ntwo \u001b[31m\u202e ${'x'.repeat(1_000)}`
    const line = /^thrown.*$/m.exec(factsOf([{ name: 'Error', message }]))?.[0] ?? ''
    expect(line).toMatch(/: Error: one two ⟨U\+001B⟩\[31m⟨U\+202E⟩ x+…$/)
    expect(line.length).toBeLessThan(300)
  })
})
