// Files for deployments: image, compose files, Kubernetes manifests, the service of systemd; and the workflow of the
// hosted CI. They are read here; docs/operations.md says what was run.

import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { settings } from '../src/settings.ts'

const read = (path: string): string => readFileSync(new URL(`../${path}`, import.meta.url), 'utf8')

type Service = {
  readonly environment?: Readonly<Record<string, string>>
  readonly depends_on?: Readonly<Record<string, object>>
  readonly ports?: readonly string[]
  readonly profiles?: readonly string[]
  readonly volumes?: readonly string[]
  readonly command?: readonly string[]
  readonly read_only?: boolean
}

it('the compose file names services that there are, holds no secret, and publishes on this machine alone', () => {
  const file = parse(read('docker-compose.yml'), { merge: true }) as {
    services: Record<string, Service>
    volumes: Record<string, null>
  }
  const { services } = file
  expect(Object.keys(services)).toEqual(['postgres', 'redis', 'migrate', 'worker', 'sandbox', 'prometheus', 'grafana'])
  for (const [name, service] of Object.entries(services)) {
    for (const needed of Object.keys(service.depends_on ?? {})) expect(services, name).toHaveProperty(needed)
    for (const port of service.ports ?? []) expect(port, name).toMatch(/^127\.0\.0\.1:/)
    for (const [variable, value] of Object.entries(service.environment ?? {}))
      if (/PASSWORD|TOKEN|DATABASE_URL/.test(variable)) expect(value, variable).toMatch(/\$\{[A-Z_]+:[?-]/)
    for (const volume of service.volumes ?? []) {
      const [source = ''] = volume.split(':')
      if (source.startsWith('./'))
        expect(() => readFileSync(new URL(`../${source}`, import.meta.url))).toThrow(/EISDIR/)
      else expect(file.volumes, name).toHaveProperty(source)
    }
  }
  for (const name of ['migrate', 'worker', 'sandbox']) expect(services[name]?.read_only, name).toBe(true)
  expect(services.migrate?.command).toEqual(['migrate'])
})

it('the file for a Postgres of your own demands what has no default, and publishes on this machine alone', () => {
  const { services } = parse(read('deploy/compose.own-database.yml'), { merge: true }) as {
    services: Record<string, Service>
  }
  expect(Object.keys(services)).toEqual(['migrate', 'worker'])
  for (const { environment, read_only } of Object.values(services)) {
    expect(environment?.DATABASE_URL).toMatch(/^\$\{DATABASE_URL:\?/)
    expect(environment?.API_BASE_URL).toMatch(/^\$\{API_BASE_URL:\?/)
    expect(read_only).toBe(true)
  }
  expect(services.worker?.environment?.ADMIN_TOKEN).toMatch(/^\$\{ADMIN_TOKEN:\?/)
  for (const port of services.worker?.ports ?? []) expect(port).toMatch(/^127\.0\.0\.1:/)
})

it('the manifests and the newest release of CHANGELOG.md have the version of the package', () => {
  const { version } = JSON.parse(read('package.json')) as { version: string }
  const images = [...read('deploy/kubernetes/boat-mirror.yaml').matchAll(/image: boat-mirror:(.+)/g)]
  expect(images.map(([, tag]) => tag)).toEqual([version, version])
  expect(/^## \[(\d.*)\] - \d{4}-\d{2}-\d{2}$/m.exec(read('CHANGELOG.md'))?.[1]).toBe(version)
})

it('the variables of the compose files are settings', () => {
  const names = new Set(Object.values(settings).map(({ name }) => name))
  for (const file of ['docker-compose.yml', 'deploy/compose.own-database.yml']) {
    const { services } = parse(read(file), { merge: true }) as { services: Record<string, Service> }
    for (const variable of Object.keys(services.worker?.environment ?? {})) expect(names, file).toContain(variable)
  }
})

it('the Kubernetes manifests migrate once, probe what is answered without a token, and need no privilege', () => {
  type Container = {
    readonly args: readonly string[]
    readonly livenessProbe?: { readonly httpGet: { readonly path: string } }
    readonly readinessProbe?: { readonly httpGet: { readonly path: string } }
    readonly envFrom: readonly Readonly<Record<string, { readonly name: string }>>[]
    readonly securityContext: object
  }
  const documents = parseAllDocuments(read('deploy/kubernetes/boat-mirror.yaml')).map((document) => document.toJS())
  const kinds = Object.fromEntries(documents.map((document) => [document.kind, document]))
  expect(Object.keys(kinds)).toEqual(['Secret', 'ConfigMap', 'Job', 'Deployment', 'Service'])
  const pods = { migrate: kinds.Job.spec.template.spec, worker: kinds.Deployment.spec.template.spec }
  for (const [command, pod] of Object.entries(pods)) {
    const [container] = pod.containers as readonly Container[]
    expect(container?.args).toEqual([command])
    expect(container?.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(pod.securityContext.runAsNonRoot).toBe(true)
    // Kubernetes would set BOAT_MIRROR_PORT and the like of every service there is.
    expect(pod.enableServiceLinks).toBe(false)
    expect(container?.envFrom.flatMap((source) => Object.values(source).map(({ name }) => name))).toEqual([
      kinds.ConfigMap.metadata.name,
      kinds.Secret.metadata.name,
    ])
  }
  const [worker] = pods.worker.containers as readonly Container[]
  expect(worker?.livenessProbe?.httpGet.path).toBe('/healthz')
  expect(worker?.readinessProbe?.httpGet.path).toBe('/readyz')
  const names = new Set(Object.values(settings).map(({ name }) => name))
  for (const variable of [...Object.keys(kinds.ConfigMap.data), ...Object.keys(kinds.Secret.stringData)])
    expect(names).toContain(variable)
})

it('the service of systemd ends by SIGTERM, and is not started again with wrong settings', () => {
  const unit = read('deploy/systemd/boat-mirror.service').split('\n')
  expect(unit).toContain('KillSignal=SIGTERM')
  expect(unit).toContain('RestartPreventExitStatus=2')
  expect(unit).toContain('DynamicUser=yes')
  const program = /node (\S+) worker/.exec(unit.find((line) => line.startsWith('ExecStart=')) ?? '')?.[1]
  const { bin } = JSON.parse(read('package.json')) as { bin: Record<string, string> }
  expect(program).toBe(bin['boat-mirror'])
})

it('the image runs unprivileged, is checked for health and gets its signals', () => {
  const lines = read('Dockerfile').split('\n')
  const stage = lines.slice(lines.findLastIndex((line) => line.startsWith('FROM ')))
  const user = stage.find((line) => line.startsWith('USER '))
  expect(user).toMatch(/^USER [1-9]\d*:[1-9]\d*$/)
  expect(stage.some((line) => line.startsWith('HEALTHCHECK'))).toBe(true)
  expect(stage).toContain('ENTRYPOINT ["boat-mirror"]')
})

it('whatever the image copies exists and is let through to its build', () => {
  const letThrough = read('.dockerignore').split('\n')
  const copied = read('Dockerfile')
    .split('\n')
    .filter((line) => /^COPY (?!--from)/.test(line))
    .flatMap((line) => line.split(' ').slice(1, -1))
  expect(copied).toContain('src')
  for (const path of copied) {
    expect(existsSync(new URL(`../${path}`, import.meta.url)), path).toBe(true)
    expect(letThrough, path).toContain(`!${path.split('/')[0]}`)
  }
})

it('the workflow runs the gate as root on Debian, on the oldest Node that is supported and on the newest', () => {
  type Step = { readonly uses?: string; readonly run?: string; readonly with?: Readonly<Record<string, unknown>> }
  type Job = {
    readonly container: { readonly image: string; readonly options: string }
    readonly strategy: { readonly matrix: { readonly node: readonly string[] } }
    readonly 'timeout-minutes': number
    readonly steps: readonly Step[]
  }
  const workflow = parse(read('.github/workflows/ci.yml')) as { permissions: object; jobs: Record<string, Job> }
  expect(workflow.permissions).toEqual({ contents: 'read' })
  expect(Object.keys(workflow.jobs)).toEqual(['gate'])
  const { gate } = workflow.jobs
  const { engines } = JSON.parse(read('package.json')) as { engines: { node: string } }
  expect(gate?.strategy.matrix.node).toEqual([engines.node.replace('>=', ''), 'current'])
  // The gate's apt needs a root; orphans of killed processes need a first process that reaps them.
  expect(gate?.container.image).toMatch(/^buildpack-deps:[a-z]+$/)
  expect(gate?.container.options).toBe('--init')
  const [minutes] = /(?<=^limit_seconds=\$\(\()\d+(?= \* 60\)\)$)/m.exec(read('.ci/run')) ?? []
  expect(gate?.['timeout-minutes']).toBeGreaterThan(Number(minutes))
  const steps = gate?.steps ?? []
  expect(steps.find(({ uses }) => uses?.startsWith('actions/setup-node@'))?.with?.['node-version']).toBe(
    `\${{ matrix.node }}`,
  )
  for (const { uses } of steps) if (uses !== undefined) expect(uses).toMatch(/^actions\/[a-z-]+@v\d+$/)
  const commands = steps.flatMap(({ run }) => run ?? [])
  expect(commands).toEqual(['.ci/run'])
  for (const command of commands) accessSync(new URL(`../${command}`, import.meta.url), constants.X_OK)
})
