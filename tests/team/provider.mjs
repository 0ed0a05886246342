// A real OpenID provider for tests: `node provider.mjs FILE`, where FILE has its settings as JSON.
// People and their groups are read from FILE at every request, so that a test can change them.
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const file = process.argv[2];
const read = () => JSON.parse(readFileSync(file, 'utf8'));
const settings = read();
const require = createRequire(`${settings.modules}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve('oidc-provider')));
const kinen = {
  client_id: 'kinen',
  client_secret: settings.secret,
  redirect_uris: [`${settings.url}/web/signed-in`],
  post_logout_redirect_uris: [`${settings.url}/web/sign-in`],
  grant_types: [
    'authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code',
  ],
};
const provider = new Provider(`http://localhost:${settings.port}`, {
  clients: [kinen],
  jwks: { keys: settings.keys },
  features: { deviceFlow: { enabled: true }, revocation: { enabled: true } },
  claims: { openid: ['sub'], profile: ['preferred_username', 'groups'] },
  conformIdTokenClaims: settings.userinfo,
  cookies: { keys: ['only for tests'] },
  pkce: { required: () => true },
  findAccount: (_, id) => {
    const person = read().people[id];
    return person && { accountId: id, claims: () => ({ sub: id, ...person }) };
  },
});
provider.listen(settings.port, '127.0.0.1', () => console.log('ready'));
