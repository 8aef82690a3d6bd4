import { describe, expect, it } from 'vitest'
import { COMMANDS } from '../../src/cli/commands/all.ts'
import { freePort } from '../support/free-port.ts'
import { callProgram, type ProgramEnd } from './program.ts'

const call = (line: string, env: Readonly<Record<string, string>> = {}): Promise<ProgramEnd> =>
  callProgram(line === '' ? [] : line.split(' '), env)

const PLACE = '--url http://127.0.0.1:1 --key k'

describe('waitpoint', () => {
  it.each([
    ['run list', 'there is no command "run": did you mean "runs"?'],
    ['runs lst', 'there is no command "runs lst": did you mean "runs list"?'],
    ['frobnicate', 'there is no command "frobnicate"'],
    ['dev-worker', 'it is started by waitpoint dev'],
    [`runs list ${PLACE} --lmit 5`, 'there is no option --lmit: did you mean --limit?'],
    [`runs list ${PLACE} -x`, 'there is no option -x'],
    [`runs list ${PLACE} --limit`, '--limit needs a value: --limit <n>'],
    [`runs list ${PLACE} --limit --json`, '--limit needs a value: --limit <n>'],
    [`runs list ${PLACE} --limit=`, '--limit needs a value: --limit <n>'],
    [`runs list ${PLACE} --limit 0`, '--limit "0" must be a whole number from 1 to 100'],
    [`runs list ${PLACE} --limit 5x`, '--limit "5x" must be a whole number from 1 to 100'],
    [`runs list ${PLACE} --limit 1 --limit 2`, '--limit was given twice'],
    [`runs list ${PLACE} --json=yes`, '--json takes no value'],
    [`runs list ${PLACE} --status DONE`, '--status "DONE" must be one of DELAYED, QUEUED,'],
    [`runs list ${PLACE} --period 5`, '--period "5" cannot be read: '],
    [
      `runs list ${PLACE} --after waitpoint_1234`,
      '"waitpoint_1234" is not the id of a run: one begins with run_',
    ],
    [`runs list ${PLACE} more`, 'there is nothing that "more" could be'],
    ['doctor postgres://me:secret@h/d', 'a place is named by an option: --postgres <url> (see'],
    ['runs list http://h', 'a place is named by an option: --url <url> (see'],
    ['runs list .waitpoint/dev.db', 'a place is named by an option: --db <file> (see'],
    ['migrate dev.db', 'there is nothing that "dev.db" could be'],
    ['runs list', 'name a place: --db <file>, --postgres <url> or --url <url>'],
    ['runs list --db nowhere.db', '--db "nowhere.db": there is no such file'],
    ['runs list --db a.db --url http://h', '--db and --url exclude each other'],
    ['runs list --url http://h', '--url needs a key'],
    ['runs list --url http://h --key ä', 'the key must be of visible characters without spaces'],
    ['runs list --url ftp://h --key k', '--url must be an http or https address'],
    ['runs list --url http://a:b@h --key k', '--url must be an http or https address'],
    ['runs list --db package.json --key k', '--key goes with --url only'],
    ['runs list --postgres localhost', '--postgres must be an address that begins with postgres://'],
    ['runs list --postgres postgres://h/d --schema A-b', '--schema "A-b" must be of a-z'],
    [`runs get ${PLACE}`, '<run> is missing'],
    [`runs get 17 ${PLACE}`, '"17" is not the id of a run: one begins with run_'],
    [`runs get run_x ${PLACE}`, '"run_x" is not the id of a run: what follows run_ is cut off'],
    [`runs get run_${'x'.repeat(200)} ${PLACE}`, 'is not the id of a run: what follows run_ is too long'],
    [`tokens get waitpoint_a.b ${PLACE}`, 'what follows waitpoint_ is of letters, digits, _ and - only'],
    [`runs get run_${'x'.repeat(12)}\u001b[31m ${PLACE}`, 'what follows run_ is of letters, digits, _ and'],
    ['runs list --db package.json --postgres postgres://h/d', '--db and --postgres exclude each other'],
    [`runs trigger greet ${PLACE} --payload {`, '--payload "{" cannot be read: '],
    [`runs explain token_12345678 ${PLACE}`, 'is not the id of a run'],
    [`tokens complete run_12345678 ${PLACE}`, 'is not the id of a token'],
    [`tokens complete waitpoint_12345678 ${PLACE} --output {`, '--output "{" cannot be read: '],
    [`queues pause ${PLACE}`, '<queue> is missing'],
    [`queues paus mail ${PLACE}`, 'did you mean "queues pause"?'],
    [`queues set-limit mail ${PLACE}`, '<limit> is missing'],
    [`queues set-limit mail 5x ${PLACE}`, '<limit> "5x" must be a whole number from 0 to 100000'],
    [`queues set-limit mail 100001 ${PLACE}`, '<limit> "100001" must be a whole number from 0 to 100000'],
    ['doctor --port 1', 'there is no option --port'],
    ['migrate', 'name a database: --postgres <url>'],
    ['migrate --db a.db', 'there is no option --db'],
    ['migrate --postgres postgres://h/d --dry-run --sql', '--dry-run and --sql exclude each other'],
    ['migrate --postgres postgres://h/d --role app --dry-run', '--role does not go with --dry-run'],
    ['console --db package.json --port 70000', '--port "70000" must be a whole number from 0 to 65535'],
    ['dev nowhere', '"nowhere": there is no such file or folder'],
  ])('refuses %j in one line, before anything happens', async (line, message) => {
    const { code, out, err } = await call(line)
    expect(err).toContain(message)
    expect(err.trimEnd().split('\n')).toHaveLength(1)
    expect(err).not.toContain('\u001b')
    expect({ code, out }).toEqual({ code: 2, out: '' })
  })

  it('takes its key from the environment, and names an app that does not answer', async () => {
    const host = `127.0.0.1:${await freePort()}`
    const [address, reason] = [`http://${host}`, `connect ECONNREFUSED ${host}`]
    const { code, err } = await call(`runs get run_12345678 --url ${address}/engine`, {
      WAITPOINT_SECRET_KEY: 'k',
    })
    expect(code).toBe(4)
    expect(err.replace(/ \(\d+ attempts in [\d.]+ s\)/, '')).toBe(
      `waitpoint runs get: Cannot reach the service at ${address}: ${reason}\n`,
    )
  })

  it.each(COMMANDS.filter(({ isHidden }) => isHidden !== true).map(({ name }) => [name]))(
    'has help for %s, whatever else is given',
    async (name) => {
      const { code, out } = await call(`${name} --help`)
      expect(code).toBe(0)
      expect(out).toContain(`Usage: waitpoint ${name}`)
      expect(out).toContain('--json')
      expect((await call(`${name} --help --limit=`)).code).toBeLessThanOrEqual(2)
    },
  )

  it('lists its commands, without the one that is its own', async () => {
    const { code, out } = await call('--help')
    expect(code).toBe(0)
    expect(out).toContain('runs list')
    expect(out).not.toContain('dev-worker')
    expect((await call('help')).out).toBe(out)
    expect(await call('')).toEqual({ code: 2, out, err: '' })
    expect((await call('tokens --help')).out).not.toContain('runs list')
    expect((await call('--version')).out).toBe('1.2.3\n')
  })
})
