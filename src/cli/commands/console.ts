import { randomKey } from '../secret-key.ts'
import type { CliCommand } from '../command.ts'
import { EXIT } from '../exit.ts'
import { loginLink } from '../../console/login-link.ts'
import { serve } from '../../http/serve.ts'
import { aborted } from '../output/aborted.ts'
import { nameOfPlace, readStorage, STORAGE_OPTIONS } from '../reach/place.ts'
import { lookInto } from '../reach/reach.ts'

/** `waitpoint console`. */
export const consoleCommand: CliCommand = {
  name: 'console',
  summary: 'open the console of a storage, beside the app that uses it',
  options: {
    ...STORAGE_OPTIONS,
    port: { value: '<port>', says: 'the port to listen on (default: any that is free)' },
    'read-only': { says: 'pages without buttons' },
  },
  about:
    'It listens on 127.0.0.1 and executes nothing. Its link logs in once. Its key is $WAITPOINT_SECRET_KEY, or a new one each time.',
  async run(given, terminal) {
    const place = readStorage(given)
    const port = given.whole('port', { from: 0, to: 65_535 }) ?? 0
    const secretKey = randomKey(terminal.env)
    await using engine = await lookInto(place, terminal, { secretKey })
    await using server = await serve(engine, { port, console: { readOnly: given.has('read-only') } })
    const url = `${server.url}/console`
    const link = loginLink(engine, url)
    if (given.has('json')) terminal.printJson({ url, link, key: secretKey, storage: nameOfPlace(place) })
    else
      terminal.print(
        `The console of ${nameOfPlace(place)}:\n\n  ${link}\n\nThis link logs in once, within ten minutes. Later: ${url}\nwith the key ${secretKey}\n\nCtrl-C ends it.`,
      )
    await aborted(terminal.signal)
    return EXIT.ok
  },
}
