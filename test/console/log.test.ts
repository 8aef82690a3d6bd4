import { describe, expect, it } from 'vitest'
import { task } from 'waitpoint'
import { createTestEngine } from 'waitpoint/testing'
import { KEY, Visitor } from './visitor.ts'

const logging = task({
  id: 'logging',
  run: async (text: string, { logger }) => logger.info(text, { html: '<b>bold</b>' }),
})

describe('the log on the page of a run', () => {
  it('shows the lines of this run, with everything in them escaped', async () => {
    await using t = await createTestEngine({ tasks: [logging], secretKey: KEY })
    t.engine.on('log', () => undefined)
    const run = await t.engine.trigger(logging, 'own <script>')
    const other = await t.engine.trigger(logging, 'of another')
    await Promise.all([run.result(), other.result()])
    const visitor = await Visitor.loggedIn(t.engine)
    const { text } = await visitor.get(`/runs/${run.id}`)
    const [, log] = /<div id="log" data-live>(.*?)<\/div>/s.exec(text) ?? []
    expect(log).toContain('own &lt;script&gt;')
    expect(log).toContain('&lt;b&gt;bold')
    expect(log).not.toContain('of another')
  })

  it('is not there for a run that has logged nothing', async () => {
    const silent = task({ id: 'silent', run: async () => undefined })
    await using t = await createTestEngine({ tasks: [silent], secretKey: KEY })
    const run = await t.engine.trigger(silent, undefined)
    await run.result()
    const visitor = await Visitor.loggedIn(t.engine)
    expect((await visitor.get(`/runs/${run.id}`)).text).not.toContain('>Log<')
  })
})
