import { auth, envvars, runs, streams } from '@trigger.dev/sdk'

/** Calls that change what only the hosted service keeps, or follow what only it follows. */
export const calls: Record<string, () => unknown> = {
  'envvars.create': async () => envvars.create({ name: 'A', value: '1' }),
  'envvars.update': async () => envvars.update('A', { value: '1' }),
  'envvars.upload': async () => envvars.upload({ variables: { A: '1' }, override: true }),
  'envvars.del': async () => envvars.del('A'),
  'runs.bulk.cancel': async () => runs.bulk.cancel({ runIds: ['run_1'] }),
  'runs.bulk.replay': async () => runs.bulk.replay({ runIds: ['run_1'] }),
  'runs.subscribeToRunsWithTag': () => runs.subscribeToRunsWithTag('user:1'),
  'runs.subscribeToBatch': () => runs.subscribeToBatch('batch_1'),
  'streams.input.peek': () => streams.input<string>({ id: 'words' }).peek(),
  'streams.input.wait with idempotencyKeyTTL': async () =>
    streams.input<string>({ id: 'words' }).wait({ idempotencyKey: 'k', idempotencyKeyTTL: '1h' }),
  'auth.getOIDCToken': async () => auth.getOIDCToken({ audience: 'aws' }),
}

/** The chunks of a run that another one has written. */
export async function follow(runId: string): Promise<string[]> {
  const chunks: string[] = []
  for await (const chunk of await runs.fetchStream<string>(runId, 'lines')) chunks.push(String(chunk))
  return chunks
}
