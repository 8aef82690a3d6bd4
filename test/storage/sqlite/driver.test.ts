import { describe, expect, it } from 'vitest'
import { type DriverPlace, findDriver } from '../../../src/storage/sqlite/driver.ts'

class Handle {
  exec(): void {}
  prepare(): never {
    throw new Error('not asked for')
  }
  close(): void {}
}

/** A Node of this version in which these modules are installed; what is loaded is noted. */
function place(
  node: string,
  modules: Readonly<Record<string, unknown>>,
): DriverPlace & { readonly loaded: string[] } {
  const loaded: string[] = []
  return {
    node,
    loaded,
    load(name) {
      loaded.push(name)
      if (name in modules) return modules[name]
      throw Object.assign(new Error(`Cannot find module '${name}'`), { code: 'MODULE_NOT_FOUND' })
    },
  }
}

const builtIn = { 'node:sqlite': { DatabaseSync: Handle } }
const better = (version: string): Record<string, unknown> => ({
  'better-sqlite3/package.json': { version },
  'better-sqlite3': Handle,
})
const libsql = { libsql: Handle }

describe('findDriver', () => {
  it.each([
    ['22.13.0', { ...builtIn, ...better('12.0.0'), ...libsql }, 'node:sqlite'],
    ['24.0.0', builtIn, 'node:sqlite'],
    ['22.12.0', { ...builtIn, ...better('12.4.1'), ...libsql }, 'better-sqlite3'],
    ['20.20.2', { ...better('12.0.0'), ...libsql }, 'better-sqlite3'],
    ['20.20.2', libsql, 'libsql'],
    ['20.20.2', { ...better('13.2.0'), ...libsql }, 'libsql'],
    ['22.13.9', { ...better('13.2.0'), ...libsql }, 'libsql'],
    ['22.14.0', { ...better('13.2.0'), ...libsql }, 'better-sqlite3'],
  ])('on Node %s, with what is installed there, takes the first that is safe', (node, modules, name) => {
    const driver = findDriver(place(node, modules))
    expect(driver.name).toBe(name)
    expect(driver.open('a.db')).toBeInstanceOf(Handle)
  })

  it('never loads a better-sqlite3 that would end the process', () => {
    const there = place('20.20.2', { ...better('13.0.0'), ...libsql })
    findDriver(there)
    expect(there.loaded).not.toContain('better-sqlite3')
  })

  it('says what to install when there is none', () => {
    const message =
      'there is no driver for it; use Node 22.13 or later, which has one built in, or ' +
      'npm install libsql (node:sqlite is not in Node 20.20.2; better-sqlite3 is not installed; libsql is not installed)'
    expect(() => findDriver(place('20.20.2', {}))).toThrow(new Error(message))
  })

  it('says why what is installed cannot be used', () => {
    expect(() => findDriver(place('20.20.2', better('13.2.0')))).toThrow(
      'better-sqlite3 13.2.0 ends the process on Node 20.20.2: install version 12',
    )
    const broken = {
      ...place('20.20.2', {}),
      load: (): never => {
        throw new Error('wrong ELF class')
      },
    }
    expect(() => findDriver(broken)).toThrow('libsql cannot be loaded: wrong ELF class')
  })
})
