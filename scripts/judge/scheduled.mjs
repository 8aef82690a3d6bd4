/** The payload of every run. Only scheduled tasks see it: that of the others is a stub. */
export const scheduled = () => ({
  scheduleId: 'sched_1',
  type: 'DECLARATIVE',
  timestamp: new Date(0),
  timezone: 'UTC',
  upcoming: [],
})
