import { describe, expect, it } from 'vitest'
import { connectPostgres, postgresUrl } from './postgres/client.ts'
import { Wire } from './postgres/wire.ts'

describe('Wire', () => {
  it('loses the answer to what took effect, and the question to what did not', async () => {
    await using direct = await connectPostgres()
    let lost: 'question' | 'answer' | undefined
    await using wire = await Wire.to(postgresUrl(), {
      fate: (sent) => (sent === lost ? 'is lost' : 'passes'),
    })
    await direct.query('CREATE SEQUENCE wire_test')
    const next = async (): Promise<string | undefined> => {
      await using client = await connectPostgres(wire.url)
      const { rows } = await client.query<{ next: string }>("SELECT nextval('wire_test') AS next")
      return rows[0]?.next
    }
    expect(await next()).toBe('1')
    lost = 'answer'
    await expect(next()).rejects.toThrow()
    lost = 'question'
    await expect(next()).rejects.toThrow()
    lost = undefined
    expect(await next()).toBe('3')
    await direct.query('DROP SEQUENCE wire_test')
  })

  it('is deaf to notifications, and to nothing else, when it is told to be', async () => {
    let isDeaf = true
    const heard: (string | undefined)[] = []
    await using wire = await Wire.to(postgresUrl(), { isDeaf: () => isDeaf })
    await using client = await connectPostgres(wire.url)
    client.on('notification', ({ payload }) => void heard.push(payload))
    await client.query('LISTEN wire_test')
    await client.query("SELECT pg_notify('wire_test', 'first')")
    isDeaf = false
    await client.query("SELECT pg_notify('wire_test', 'second')")
    expect(heard).toEqual(['second'])
  })
})
