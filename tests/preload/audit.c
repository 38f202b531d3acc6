/* SPDX-License-Identifier: MIT */
/* An auditor that does nothing but be there. */
unsigned int la_version(unsigned int version);

unsigned int la_version(unsigned int version)
{
	return version;
}
