import { execFileSync } from 'node:child_process'

/** What a terminal makes of these keys by itself, until single keys are read from it. */
const SIGNALS: Readonly<Record<string, NodeJS.Signals>> = {
  '\u0003': 'SIGINT',
  '\u001a': 'SIGTSTP',
  '\u001c': 'SIGQUIT',
}

/**
 * Hears each key that is pressed, until the process ends or Ctrl-C is pressed. Answers whether there are keys: none without a
 * terminal, or for a job in the background, which a terminal would stop.
 */
export function hearKeys(pressed: (key: string) => void): boolean {
  const { stdin } = process
  if (!stdin.isTTY || !isInForeground()) return false
  stdin.setRawMode(true)
  process.on('SIGCONT', () => {
    if (isInForeground()) stdin.setRawMode(true)
  })
  stdin.on('data', (data) => {
    for (const key of String(data)) {
      const signal = SIGNALS[key]
      if (signal === undefined) {
        pressed(key)
        continue
      }
      stdin.setRawMode(false)
      if (signal === 'SIGINT') stdin.pause()
      // To all processes of the job, as the terminal does it.
      process.kill(process.platform === 'win32' ? process.pid : 0, signal)
    }
  })
  return true
}

function isInForeground(): boolean {
  if (process.platform === 'win32') return true
  try {
    const answer = execFileSync('ps', ['-o', 'pgid=,tpgid=', '-p', String(process.pid)], { encoding: 'utf8' })
    const [group, foreground] = answer.trim().split(/\s+/)
    return group === foreground
  } catch {
    // Without `ps` it is not known. Most processes are in the foreground.
    return true
  }
}
